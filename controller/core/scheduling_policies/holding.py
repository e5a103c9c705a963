"""Which policies a pod has something of, that they would give to a pod which says nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from controller.core.kubernetes.directives import PREFERRED, REQUIRED, Directives
from controller.core.kubernetes.node_terms import ConjoinedTerm, TooManyTerms, product
from controller.core.scheduling_policies.completion import complete
from controller.core.scheduling_policies.merging import Merged
from controller.core.scheduling_policies.names import PRIORITY_CLASS, RUNTIME_CLASS, SCHEDULER
from controller.core.scheduling_policies.pod import Pod


def held_givers(pod: Pod, merged: Merged) -> frozenset[str]:
    """Name the policies of which the pod holds something that they give, whoever put it there.

    A default that the default selector rules out is given to pods that select otherwise.
    """
    own, bare = pod.directives, Pod(exempt=pod.exempt)
    selecting = replace(bare.directives, node_selector=own.node_selector, node_name=own.node_name)
    return _givers(pod, bare, merged) | _givers(pod, replace(bare, directives=selecting), merged)


def _givers(pod: Pod, without: Pod, merged: Merged) -> frozenset[str]:
    """Name those that give a pod without something what this one holds."""
    full = complete(without, merged)
    held = {
        SCHEDULER.path: pod.directives.scheduler_name == full.pod.directives.scheduler_name,
        PRIORITY_CLASS.path: pod.priority_class == full.pod.priority_class,
        RUNTIME_CLASS.path: pod.runtime_class == full.pod.runtime_class,
        **dict.fromkeys(_held(pod.directives, full.pod.directives), True),
    }
    return frozenset(one.policy for one in full.additions if held.get(one.path))


def _held(own: Directives, given: Directives) -> Iterator[str]:
    """The paths at which the pod has all that is given."""
    yield from (f"spec.nodeSelector[{key}]" for key, value in given.node_selector if (key, value) in own.node_selector)
    if set(given.tolerations) <= set(own.tolerations):
        yield "spec.tolerations"
    if own.required is not None and _is_narrowed(own, given):
        yield f"spec.affinity.nodeAffinity.{REQUIRED}"
    if set(given.preferred) <= set(own.preferred):
        yield f"spec.affinity.nodeAffinity.{PREFERRED}"
    for place, terms in given.pod_terms.items():
        if all(term in own.pod_terms.get(place, ()) for term in terms):
            yield f"spec.affinity.{place[0]}.{place[1]}"


def _is_narrowed(own: Directives, given: Directives) -> bool:
    """Whether the pod's terms hold those that are given already."""
    try:
        narrowed = product(own.required, given.required or (), ConjoinedTerm.of(own.node_selector, own.node_name))
    except TooManyTerms:
        return False
    return narrowed == own.required
