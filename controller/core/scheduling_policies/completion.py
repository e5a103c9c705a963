"""What a pod is given by policies: what is required and leaves no choice, then the defaults, where it uses none.

Nothing is given that would leave the pod no node, such as a default selector that the pod's own affinity rules out:
then the pod is judged as it is. Completing twice is completing once, and lists grow at their end alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from controller.core.kubernetes.directives import DEFAULT_SCHEDULER, PREFERRED, REQUIRED, PodAffinity, PodTermList
from controller.core.kubernetes.labels import Term
from controller.core.kubernetes.node_terms import ConjoinedTerm, TooManyTerms, product
from controller.core.pod_policies.merging import can_hold
from controller.core.scheduling_policies.entries import (
    Entry,
    default_nodes,
    default_pods,
    default_selector,
    required_selector,
    required_terms,
)
from controller.core.scheduling_policies.forms import required_part, sole_term
from controller.core.scheduling_policies.merging import Merged
from controller.core.scheduling_policies.names import PRIORITY_CLASS, RUNTIME_CLASS, SCHEDULER, wanted
from controller.core.scheduling_policies.pod import Pod
from controller.core.scheduling_policies.policy import AffinityKind, DefaultAffinity
from controller.core.scheduling_policies.runtime_class import class_by_policy
from controller.core.scheduling_policies.wording import counted, terms_text, toleration_text

_NODE_AFFINITY = "spec.affinity.nodeAffinity"


@dataclass(frozen=True, slots=True)
class Addition:
    """Something given to a pod: where, what, by which entry of which policy."""

    path: str
    value: str
    entry: str
    policy: str


@dataclass(frozen=True, slots=True)
class Completion:
    """The pod as it is to be."""

    pod: Pod
    additions: tuple[Addition, ...]

    @property
    def replaces_priority(self) -> bool:
        """Whether the pod has another PriorityClass now.

        Then its `priority` and `preemptionPolicy`, worked out before from another class, have to be removed, or the
        apiserver refuses the pod.
        """
        return any(addition.path == PRIORITY_CLASS.path for addition in self.additions)


@dataclass(slots=True)
class _Work:
    """A completion in the making."""

    pod: Pod
    merged: Merged
    additions: list[Addition] = field(default_factory=list)

    def give(self, addition: Addition, **directives: Any) -> None:
        """Change directives, and remember it."""
        self.pod = replace(self.pod, directives=self.pod.directives.but(**directives))
        self.additions.append(addition)


def complete(pod: Pod, merged: Merged) -> Completion:
    """Give the pod what the policies require and leave no choice about, and their defaults."""
    work = _Work(pod, merged)
    _names(work)
    _required_selector(work)
    _required_term(work)
    _default_selector(work)
    _tolerations(work)
    affinity = merged.default.affinity
    if affinity is not None:
        _default_node_affinity(work, affinity)
        for which in PodAffinity:
            _default_pod_affinity(work, affinity, which)
    return Completion(work.pod, tuple(work.additions))


def _names(work: _Work) -> None:
    scheduler = wanted(SCHEDULER, work.pod, work.merged)
    if scheduler is not None and scheduler.name != DEFAULT_SCHEDULER:
        addition = Addition(SCHEDULER.path, scheduler.name, scheduler.entry, scheduler.policy)
        work.give(addition, scheduler_name=scheduler.name)
    priority = wanted(PRIORITY_CLASS, work.pod, work.merged)
    if priority is not None and priority.name != work.pod.priority_class:
        work.additions.append(Addition(PRIORITY_CLASS.path, priority.name, priority.entry, priority.policy))
        work.pod = replace(work.pod, priority_class=priority.name)
    runtime = class_by_policy(work.pod, work.merged)
    if runtime is not None:
        work.additions.append(Addition(RUNTIME_CLASS.path, runtime.name, runtime.entry, runtime.policy))
        work.pod = replace(work.pod, runtime_class=runtime.name)


def _required_selector(work: _Work) -> None:
    for key, values in (work.merged.required.node_selectors or {}).items():
        if len(values) == 1:
            _select(work, key, values[0], f"required.nodeSelectors[{key}]", required_selector(key))


def _default_selector(work: _Work) -> None:
    for key, value in (work.merged.default.node_selector or {}).items():
        _select(work, key, value, f"default.nodeSelector[{key}]", default_selector(key))


def _select(work: _Work, key: str, value: str, entry: str, looked_up: Entry) -> None:
    own = work.pod.directives
    if any(key == have for have, _ in own.node_selector):
        return
    selector = tuple(sorted((*own.node_selector, (key, value))))
    if can_hold(own, ConjoinedTerm.of(selector, own.node_name)):
        addition = Addition(f"spec.nodeSelector[{key}]", value, entry, work.merged.giver(looked_up))
        work.give(addition, node_selector=selector)


def _tolerations(work: _Work) -> None:
    defaults, own = work.merged.default.tolerations, work.pod.directives.tolerations
    if defaults is None or any(work.pod.used_tolerations()):
        return
    missing = tuple(one for one in dict.fromkeys(defaults) if one not in own)
    if missing:
        giver = work.merged.giver(lambda policy: policy.default.tolerations)
        value = ", ".join(map(toleration_text, missing))
        work.give(Addition("spec.tolerations", value, "default.tolerations", giver), tolerations=(*own, *missing))


def _required_term(work: _Work) -> None:
    """Join the only required node affinity to every term of the pod, if it leaves no choice."""
    forms = required_part(work.merged.required.affinities, AffinityKind.NODE, REQUIRED)
    term = sole_term(forms)
    narrowed = None if term is None else _narrowed(work, (term,))
    if forms is None or term is None or narrowed is None or narrowed == work.pod.directives.required:
        return
    giver = work.merged.giver(required_terms(AffinityKind.NODE, REQUIRED, forms))
    entry = f"required.affinities.{AffinityKind.NODE}.{REQUIRED}"
    work.give(Addition(f"{_NODE_AFFINITY}.{REQUIRED}", terms_text((term,)), entry, giver), required=narrowed)


def _narrowed(work: _Work, terms: Sequence[Term]) -> tuple[Term, ...] | None:
    """Join terms to the pod's own; None when that leaves no node, or more terms than a pod may have."""
    directives = work.pod.directives
    try:
        return product(directives.required, terms, ConjoinedTerm.of(directives.node_selector, directives.node_name))
    except TooManyTerms:
        return None


def _default_node_affinity(work: _Work, affinity: DefaultAffinity) -> None:
    if work.pod.uses_node_affinity:
        return
    narrowed = None if affinity.required is None else _narrowed(work, affinity.required)
    if affinity.required is not None and narrowed is None:
        return
    # a list of no terms, which matches no node, takes none
    if affinity.required is not None and narrowed != work.pod.directives.required:
        addition = _default(work, f"nodeAffinity.{REQUIRED}", terms_text(affinity.required), default_nodes(REQUIRED))
        work.give(addition, required=narrowed)
    if affinity.preferred:
        text = terms_text([one.term for one in affinity.preferred])
        addition = _default(work, f"nodeAffinity.{PREFERRED}", text, default_nodes(PREFERRED))
        work.give(addition, preferred=affinity.preferred)


def _default_pod_affinity(work: _Work, affinity: DefaultAffinity, which: PodAffinity) -> None:
    own = work.pod.directives.pod_terms
    if any(own.get((which, part)) for part in (REQUIRED, PREFERRED)):
        return
    for part in (REQUIRED, PREFERRED):
        place: PodTermList = (which, part)
        terms = affinity.pod_terms.get(place)
        if terms:
            addition = _default(work, f"{which}.{part}", counted(len(terms), "term"), default_pods(place))
            work.give(addition, pod_terms={**work.pod.directives.pod_terms, place: terms})


def _default(work: _Work, where: str, text: str, entry: Entry) -> Addition:
    return Addition(f"spec.affinity.{where}", text, f"default.affinity.{where}", work.merged.giver(entry))
