"""How a queued pod is held to a flavor: what has to be added to it, or why no node could take it there.

Legal for the apiserver by construction (`core.pod_update`, KEP-3838): keys go where nodeSelector has none, requirements
to the tail of every required term but the empty ones, tolerations are only added. Nothing is added that the pod says
already, so what is narrowed is not narrowed again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from controller.core.kubernetes.labels import Operator, Requirement, Term, contradictory_key
from controller.core.kubernetes.node_terms import ConjoinedTerm
from controller.core.kubernetes.taints import Toleration
from controller.core.queueing.queues import Flavor
from controller.core.workloads.shapes import Constraints

_OPPOSITE: Final = {
    Operator.IN: Operator.NOT_IN,
    Operator.NOT_IN: Operator.IN,
    Operator.EXISTS: Operator.DOES_NOT_EXIST,
    Operator.DOES_NOT_EXIST: Operator.EXISTS,
}
"""What holds exactly where the operator does not. Gt and Lt have no such thing: both fail for what is no number."""


@dataclass(frozen=True, slots=True)
class Narrowing:
    """What a pod has to be given, in the order in which it is to stand there.

    `appended` has an entry for each of the pod's required terms; a pod that requires nothing of its nodes gets
    `required` as its one term instead, unless that is empty.
    """

    node_labels: tuple[tuple[str, str], ...] = ()
    appended: tuple[tuple[Requirement, ...], ...] = ()
    required: tuple[Requirement, ...] = ()
    tolerations: tuple[Toleration, ...] = ()


@dataclass(frozen=True, slots=True)
class Conflict:
    """No labels and no name of a node could meet both, in any of the pod's terms. `text` is a clause for people."""

    text: str


def narrow(pod: Constraints, flavor: Flavor) -> Narrowing | Conflict:
    """Hold a pod to a flavor, or say why that leaves no node at all."""
    if pod.only and flavor.name not in pod.only:
        return Conflict(f"the Job was admitted to {' or '.join(pod.only)}, and its pods go to no other flavor")
    return _narrow(pod, flavor.node_labels, flavor.requirements, flavor.tolerations)


@lru_cache(maxsize=8192)
def _narrow(
    pod: Constraints,
    labels: tuple[tuple[str, str], ...],
    requirements: tuple[Requirement, ...],
    tolerations: tuple[Toleration, ...],
) -> Narrowing | Conflict:
    selector = ConjoinedTerm.of(pod.node_selector, "").expressions
    wanted = (*ConjoinedTerm.of(labels, "").expressions, *requirements)
    conflict = _conflict(pod, selector, wanted)
    if conflict is not None:
        return conflict
    free = {key for key, _ in labels} - {key for key, _ in pod.node_selector}
    # all of this will be in nodeSelector, whatever the terms say
    held = ConjoinedTerm.of({**dict(pod.node_selector), **dict(labels)}.items(), "")
    return Narrowing(
        node_labels=tuple(pair for pair in labels if pair[0] in free),
        appended=tuple(
            # an empty term must not be given anything, and one that matches no node any more need not
            ()
            if term.is_empty or held.contradicts(term)
            else _missing((*held.expressions, *term.expressions), requirements)
            for term in pod.terms or ()
        ),
        required=_missing(held.expressions, requirements) if pod.terms is None else (),
        tolerations=tuple(one for one in dict.fromkeys(tolerations) if one not in pod.tolerations),
    )


def _missing(own: Iterable[Requirement], wanted: Iterable[Requirement]) -> tuple[Requirement, ...]:
    """Those of the wanted requirements that neither the own ones nor those before them imply."""
    have, added = [*own], []
    for requirement in wanted:
        if not _is_implied(requirement, have):
            have.append(requirement)
            added.append(requirement)
    return tuple(added)


def _is_implied(wanted: Requirement, own: Sequence[Requirement]) -> bool:
    """Whether the requirement holds wherever the own ones do: they leave no room for its opposite, or for anything."""
    opposite = _OPPOSITE.get(wanted.operator)
    against = () if opposite is None else (Requirement(wanted.key, opposite, wanted.values),)
    return wanted in own or contradictory_key((*own, *against)) is not None


def _conflict(pod: Constraints, selector: tuple[Requirement, ...], wanted: tuple[Requirement, ...]) -> Conflict | None:
    """Say why not one of the pod's alternatives could hold beside its node selector and what the flavor wants."""
    terms = (Term(),) if pod.terms is None else tuple(term for term in pod.terms if not term.is_empty)
    if not terms:
        return Conflict("the pod's own node selector or affinity has only empty terms, which match no node")
    conjoined = ConjoinedTerm((*selector, *wanted))
    keys = [conjoined.contradicts(term) for term in terms]
    if None in keys:
        return None
    own = (*selector, *terms[0].expressions, *terms[0].fields)
    return Conflict(_words(keys[0] or "", own, wanted, len(terms)))


def _words(key: str, own: Iterable[Requirement], wanted: Iterable[Requirement], terms: int) -> str:
    of_pod = " and ".join(_in_words(one) for one in own if one.key == key)
    of_flavor = " and ".join(_in_words(one) for one in wanted if one.key == key)
    sides = [f"{side}: {said}" for side, said in (("the pod", of_pod), ("the flavor", of_flavor)) if said]
    first = f", in the first of its {terms} terms" if terms > 1 else ""
    whom = "it" if of_flavor else "itself"
    return f"the pod's own node selector or affinity contradicts {whom} on {key} ({'; '.join(sides)}){first}"


def _in_words(requirement: Requirement) -> str:
    """One value that is wanted is written as a label is."""
    if requirement.operator is Operator.IN and len(requirement.values) == 1:
        return f"{requirement.key}={requirement.values[0]}"
    return requirement.text
