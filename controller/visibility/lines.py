"""Who waits for a ClusterQueue, in the order in which the decision takes them: everybody's place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Final

from controller.core.snapshot import Snapshot
from controller.core.turns.heads import Heads
from controller.core.workloads.workload import Workload, WorkloadClass


@dataclass(frozen=True, slots=True)
class Place:
    """Where a workload stands, 1 the first: among all of its ClusterQueue, and among those of its LocalQueue."""

    in_cluster_queue: int
    in_local_queue: int


NOWHERE: Final = Place(0, 0)
"""Of what does not wait."""


def lines(snapshot: Snapshot) -> Mapping[str, Sequence[Workload]]:
    """Return by ClusterQueue who waits there, first in order first; under the empty name who has no ClusterQueue.

    It is the order in which their queue's turns come. In which order queues have their turns is another question: that
    goes by shares where a tree shares fairly, else by the places of their heads.
    """
    local_queues = snapshot.queues.local_queues
    found: dict[str, list[WorkloadClass]] = {}
    for kind in snapshot.waiting.runs:
        local = local_queues.get(kind.queue)
        found.setdefault("" if local is None else local.cluster_queue, []).append(kind)
    heads = Heads(snapshot)
    return {name: _in_order(snapshot, heads, kinds) for name, kinds in sorted(found.items())}


def line(snapshot: Snapshot, queue: str) -> Sequence[Workload]:
    """Return who waits for one ClusterQueue, first in order first; empty: who has none."""
    local_queues = snapshot.queues.local_queues
    keys = {key for key, local in local_queues.items() if local.cluster_queue == queue}
    runs = snapshot.waiting.runs
    kinds = [kind for kind in runs if (kind.queue in keys if queue else kind.queue not in local_queues)]
    return _in_order(snapshot, Heads(snapshot), kinds)


def amounts_before(line: Sequence[Workload], uid: str) -> Counter[str]:
    """Return what those before a workload of a line ask for together, by resource."""
    found: Counter[str] = Counter()
    for one in line:
        if one.uid == uid:
            break
        found.update(dict(one.kind.requests))
    return found


def _in_order(snapshot: Snapshot, heads: Heads, kinds: Iterable[WorkloadClass]) -> list[Workload]:
    runs = ((kind, snapshot.waiting.runs[kind]) for kind in kinds)
    found: list[tuple[tuple[Any, ...], Workload]] = [
        (heads.of(run, index)[:3], one) for _, run in runs for index, one in enumerate(run)
    ]
    return [one for _, one in sorted(found, key=itemgetter(0))]


def places(line: Sequence[Workload]) -> dict[str, Place]:
    """Return the place of each workload of a line, by uid."""
    reached: Counter[tuple[str, ...]] = Counter()
    found = {}
    for number, one in enumerate(line, start=1):
        reached[one.kind.queue] += 1
        found[one.uid] = Place(number, reached[one.kind.queue])
    return found
