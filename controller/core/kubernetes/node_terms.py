"""Two required node affinities as one: the product of their alternatives.

A pod's terms are alternatives, and so are a policy's. Both affinities hold where one of each holds, so every term of
the pod is joined with every term of the policy. The pod's own requirements come first (KEP-3838: a gated pod's terms
may later grow at their tail alone), what it has is not written twice, and an empty term, which matches no node, stays.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from controller.core.kubernetes.labels import Operator, Requirement, Term, contradictory_key

TERMS_MOST: Final = 64
"""More alternatives than this no pod is given: the scheduler tries each on every node."""

NODE_NAME_FIELD: Final = "metadata.name"


class TooManyTerms(Exception):
    """The product has more than TERMS_MOST terms."""


@dataclass(frozen=True, slots=True)
class ConjoinedTerm:
    """The requirements of nodeSelector and nodeName, which hold together with each of the terms."""

    expressions: tuple[Requirement, ...] = ()
    fields: tuple[Requirement, ...] = ()

    @classmethod
    def of(cls, node_selector: Iterable[tuple[str, str]], node_name: str) -> ConjoinedTerm:
        """Write selector pairs and the name as requirements."""
        return cls(
            tuple(Requirement(key, Operator.IN, (value,)) for key, value in node_selector),
            (named(node_name),) if node_name else (),
        )

    def contradicts(self, term: Term) -> str | None:
        """Return the key on which the term can never hold together with these, else None."""
        key = contradictory_key((*self.expressions, *term.expressions))
        return key if key or not (self.fields or term.fields) else contradictory_key((*self.fields, *term.fields))


def named(node: str) -> Requirement:
    """The requirement, for a term's fields, that the node has this name."""
    return Requirement(NODE_NAME_FIELD, Operator.IN, (node,))


def product(own: Sequence[Term] | None, policy: Sequence[Term], conjoined: ConjoinedTerm) -> tuple[Term, ...] | None:
    """Return the pod's terms `own` narrowed by those of a policy; None when not one alternative could ever hold.

    A term of the pod that holds a term of the policy already is as narrow as the policy wants it, and stays as it is;
    one that can never hold beside the rest of the pod does not count, and goes when another is narrowed. Raises
    TooManyTerms.
    """
    pairs = [(Term(), policy)] if own is None else [(term, _wanted(term, policy)) for term in own]
    if len(pairs) > TERMS_MOST and any(wanted for _, wanted in pairs):
        raise TooManyTerms
    result: dict[Term, None] = {}
    has_lost = False
    for term, wanted in pairs:
        if not wanted:
            if term.is_empty or conjoined.contradicts(term) is None:
                result[term] = None
            else:
                has_lost = True
            continue
        joined = [both for both in (joint(term, one) for one in wanted) if conjoined.contradicts(both) is None]
        has_lost = has_lost or not joined
        result.update(dict.fromkeys(joined))
        if len(result) > TERMS_MOST:
            raise TooManyTerms
    if own is not None and not any(wanted for _, wanted in pairs):
        return tuple(own)
    if has_lost and all(term.is_empty for term in result):
        return None
    return tuple(result)


def joint(term: Term, more: Term) -> Term:
    """Both terms as one, the first one's requirements first and none twice."""
    return Term(
        (*term.expressions, *_missing(term.expressions, more.expressions)),
        (*term.fields, *_missing(term.fields, more.fields)),
    )


def _wanted(term: Term, policy: Sequence[Term]) -> Sequence[Term]:
    """The terms of the policy that a term of the pod has to be joined with: none when it holds one, or is empty."""
    return () if term.is_empty or any(has_all(term, one) for one in policy) else policy


def has_all(term: Term, other: Term) -> bool:
    """Whether a term makes every requirement of another."""
    return not _missing(term.expressions, other.expressions) and not _missing(term.fields, other.fields)


def _missing(have: Iterable[Requirement], wanted: Iterable[Requirement]) -> tuple[Requirement, ...]:
    known = {_meaning(requirement) for requirement in have}
    return tuple(requirement for requirement in wanted if _meaning(requirement) not in known)


def _meaning(requirement: Requirement) -> tuple[str, Operator, frozenset[str]]:
    """What makes two requirements the same: the order of their values does not."""
    return requirement.key, requirement.operator, frozenset(requirement.values)
