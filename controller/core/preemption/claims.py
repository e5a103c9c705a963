"""In which flavors a workload asks others to go, and on what account in each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from controller.core.preemption.eligibility import Candidates, Claim
from controller.core.queueing.queues import ClusterQueue
from controller.core.workloads.decisions import Wait
from controller.core.workloads.workload import Workload
from controller.core.world.settled import contested


def claims(
    candidates: Candidates, queue: ClusterQueue, workload: Workload, flavors: Iterable[str]
) -> Iterator[tuple[Claim, str]]:
    """Yield on what account others would go in each of these flavors, and the flavor."""
    claim = candidates.claim(queue, workload)
    for flavor in flavors:
        yield replace(claim, queue=_up_to(queue, flavor)) if queue.preempts_first else claim, flavor


def contested_flavors(queue: ClusterQueue, wait: Wait) -> list[str]:
    """Return the flavors in which others are in the way, in order; all of them where a limit over all is."""
    found = contested(wait)
    return [quota.flavor for quota in queue.flavors if quota.flavor in found or "" in found]


def _up_to(queue: ClusterQueue, flavor: str) -> ClusterQueue:
    """Return the queue as if this flavor were its last: in those behind it nobody has to go."""
    names = [quota.flavor for quota in queue.flavors]
    return replace(queue, flavors=queue.flavors[: names.index(flavor) + 1])
