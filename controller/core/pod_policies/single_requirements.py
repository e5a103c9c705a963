"""What of required terms can still hold beside a pod's own, where no alternative can as a whole.

Otherwise a pod would shake off all that a policy requires by contradicting it once. What is left out is told with both
sides, the pod's and the policy's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from controller.core.kubernetes.labels import Requirement, Term, contradictory_key
from controller.core.kubernetes.node_terms import TERMS_MOST, ConjoinedTerm, TooManyTerms, has_all, joint

_REQUIRED: Final = "spec.affinity.nodeAffinity: required terms"
_TOLD_MOST: Final = 3


@dataclass(frozen=True, slots=True)
class Remainder:
    """The pod's terms with what can hold joined to them, and what was left out. `holds`: some of it is there now."""

    terms: tuple[Term, ...] | None
    left_out: tuple[str, ...]
    holds: bool


@dataclass(frozen=True, slots=True)
class _Alternative:
    """One term of the policy, beside one of the pod's: what of it can hold, and why not the rest."""

    kept: Term
    left_out: tuple[str, ...]

    @property
    def size(self) -> int:
        return len(self.kept.expressions) + len(self.kept.fields)


def remainder(own: Sequence[Term] | None, policy: Sequence[Term], conjoined: ConjoinedTerm) -> Remainder:
    """Join to each term of the pod what of the policy's terms can hold there, requirement by requirement.

    A term that already has what can hold of an alternative stays as it is. Terms of the pod that can never hold beside
    its nodeSelector go when another grows. Raises TooManyTerms.
    """
    grown: dict[Term, None] = {}
    left_out: dict[str, None] = {}
    has_grown = holds = False
    for term in [Term()] if own is None else own:
        if own is not None and term.is_empty:
            grown[term] = None
            continue
        if conjoined.contradicts(term) is not None:
            continue
        alternatives = [_alternative(term, one, conjoined) for one in policy]
        usable = [one for one in alternatives if not one.kept.is_empty]
        held = [one for one in usable if has_all(term, one.kept)]
        told = [max(held, key=lambda one: one.size)] if held else usable or alternatives
        left_out.update(dict.fromkeys(text for one in told for text in one.left_out))
        joined = [joint(term, one.kept) for one in usable] if not held and usable else [term]
        grown.update(dict.fromkeys(joined))
        has_grown, holds = has_grown or joined != [term], holds or bool(usable)
        if len(grown) > TERMS_MOST and has_grown:
            raise TooManyTerms
    terms = tuple(grown) if has_grown else None if own is None else tuple(own)
    return Remainder(terms, _few(tuple(left_out)), holds)


def _alternative(term: Term, wanted: Term, conjoined: ConjoinedTerm) -> _Alternative:
    kept, left_out = Term(), list[str]()
    for one in wanted.expressions:
        more = joint(kept, Term((one,)))
        if conjoined.contradicts(joint(term, more)) is None:
            kept = more
        else:
            left_out.append(_text(one, (*term.expressions, *kept.expressions), conjoined))
    for one in wanted.fields:
        more = joint(kept, Term((), (one,)))
        if conjoined.contradicts(joint(term, more)) is None:
            kept = more
        else:
            left_out.append(_text(one, (*term.fields, *kept.fields), conjoined))
    return _Alternative(kept, tuple(left_out))


def _text(wanted: Requirement, own: Sequence[Requirement], conjoined: ConjoinedTerm) -> str:
    """Say what contradicts a requirement: where it stands, with key and values."""
    if contradictory_key((wanted,)) is not None:
        return f"{_REQUIRED}: {wanted.text} holds on no node"
    where = (
        *((f"spec.nodeSelector[{one.key}] is {one.values[0]!r}", one) for one in conjoined.expressions),
        *((f"spec.nodeName is {one.values[0]!r}", one) for one in conjoined.fields),
        *((f"{_REQUIRED} have {one.text}", one) for one in own),
    )
    against = (text for text, one in where if one.key == wanted.key and contradictory_key((one, wanted)) is not None)
    return f"{next(against, f'{_REQUIRED} rule it out')}, not {wanted.text}"


def _few(texts: tuple[str, ...]) -> tuple[str, ...]:
    more = len(texts) - _TOLD_MOST
    return texts if more <= 0 else (*texts[:_TOLD_MOST], f"{more} more requirements that contradict the pod's")
