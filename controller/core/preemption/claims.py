"""In which flavors a workload asks others to go, and on what account in each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from controller.core.fitting.unlike_sets import Onto, UnlikeSets
from controller.core.preemption.eligibility import Candidates, Claim
from controller.core.queueing.queues import ClusterQueue
from controller.core.workloads.decisions import Wait
from controller.core.workloads.workload import Workload, WorkloadClass


def claims(
    candidates: Candidates, queue: ClusterQueue, workload: Workload, ways: Iterable[Onto]
) -> Iterator[tuple[Claim, Onto]]:
    """Yield on what account others would go so that its sets go onto these flavors, way by way, and the way."""
    claim = candidates.claim(queue, workload)
    for onto in ways:
        yield replace(claim, queue=_up_to(queue, onto)) if queue.preempts_first else claim, onto


def ways(unlike: UnlikeSets, queue: ClusterQueue, kind: WorkloadClass, wait: Wait) -> Iterable[Onto]:
    """Return onto which flavors a workload could go if others went there, a flavor for each of its sets, in order."""
    flavors = contested_flavors(queue, wait)
    if len(kind.pod_sets) == 1:
        return [(flavor,) for flavor in flavors]
    return unlike.ways(queue, kind, wait) if flavors else ()


def contested_flavors(queue: ClusterQueue, wait: Wait) -> list[str]:
    """Return the flavors in which others are in the way, in order; all of them where a limit over all is."""
    found = wait.contested
    return [quota.flavor for quota in queue.flavors if quota.flavor in found or "" in found]


def _up_to(queue: ClusterQueue, onto: Onto) -> ClusterQueue:
    """Return the queue as if the last of these flavors were its last: in those behind it nobody has to go."""
    names = [quota.flavor for quota in queue.flavors]
    return replace(queue, flavors=queue.flavors[: max(map(names.index, onto)) + 1])
