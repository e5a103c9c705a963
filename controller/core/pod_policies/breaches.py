"""What an update of a pod would newly break of the pod scheduling policies.

Only what is new counts. A policy that was written after the pod, and was never merged into it, must not stand in the
way of an update that has nothing to do with it, such as the removal of a gate. Each policy is held against the pod
alone, so that a fault does not move from one to another with the order of policies.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from controller.core.kubernetes.directives import POD_TERM_LISTS, PREFERRED, Directives
from controller.core.kubernetes.documents import toleration_document
from controller.core.pod_policies.merging import merge
from controller.core.pod_policies.policies import OnConflict, Policy, order_key

Fault = tuple[str, str]
"""(what makes it this one and no other, words for people)."""


@dataclass(frozen=True, slots=True)
class Breach:
    """What one policy holds against an update. `is_new_to_it`: the policy did not select the pod before."""

    policy: Policy
    texts: tuple[str, ...]
    is_new_to_it: bool


def breaches(
    before: Directives, after: Directives, selecting_before: Iterable[Policy], selecting_after: Iterable[Policy]
) -> tuple[Breach, ...]:
    """Return what the policies that select a gated pod after an update find in it and did not find before."""
    known = {policy.key: dict(_faults(before, policy)) for policy in selecting_before}
    found = []
    for policy in sorted(selecting_after, key=order_key):
        old = known.get(policy.key)
        texts = tuple(text for item, text in _faults(after, policy) if item not in (old or ()))
        if texts:
            found.append(Breach(policy, texts, is_new_to_it=old is None))
    return tuple(found)


def _faults(pod: Directives, policy: Policy) -> Iterator[Fault]:
    """What merging the policy would still add to the pod, and where it would refuse it."""
    done = merge(pod, policy.directives, is_held=True)
    yield from _lacks(pod, done.pod)
    if policy.on_conflict is OnConflict.REJECT:
        yield from ((conflict.text, conflict.text) for conflict in done.conflicts)
    if done.fault is not None:
        yield "fault", done.fault


def _lacks(pod: Directives, merged: Directives) -> Iterator[Fault]:
    for key, value in merged.node_selector:
        if (key, value) not in pod.node_selector:
            yield f"nodeSelector {key}", f"spec.nodeSelector lacks {key}={value}"
    if merged.scheduler_name != pod.scheduler_name:
        yield "schedulerName", f"spec.schedulerName is not {merged.scheduler_name!r}"
    for toleration in merged.tolerations[len(pod.tolerations) :]:
        words = ", ".join(f"{name} {value}" for name, value in toleration_document(toleration).items())
        yield repr(toleration), f"spec.tolerations lacks {words}"
    if merged.required != pod.required:
        yield "required", "spec.affinity.nodeAffinity lacks what the policy requires of nodes"
    for one in merged.preferred[len(pod.preferred) :]:
        yield (
            repr(one),
            f"spec.affinity.nodeAffinity lacks the preferred term of weight {one.weight} for {one.term.text}",
        )
    for place in POD_TERM_LISTS:
        which, part = place
        had = pod.pod_terms.get(place, ())
        for term in merged.pod_terms.get(place, ())[len(had) :]:
            inner = term.get("podAffinityTerm", term) if part == PREFERRED else term
            yield f"{place} {term!r}", f"spec.affinity.{which}.{part} lacks the term of {inner.get('topologyKey')}"
