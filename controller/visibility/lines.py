"""Who waits for a ClusterQueue, in the order in which the decision takes them: everybody's place.

A line is named after its ClusterQueue. What waits in a LocalQueue that does not exist has a line of its own there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Final

from controller.core.queueing.queues import LocalQueue
from controller.core.snapshot import Snapshot
from controller.core.turns.heads import Heads
from controller.core.workloads.workload import QueueKey, Workload, WorkloadClass


@dataclass(frozen=True, slots=True)
class Place:
    """Where a workload stands, 1 the first: among all of its ClusterQueue, and among those of its LocalQueue."""

    in_cluster_queue: int
    in_local_queue: int


_OWN: Final = "/"
"""What no ClusterQueue's name begins with."""
NOWHERE: Final = Place(0, 0)
"""Of what does not wait."""


def line_of(local_queues: Mapping[QueueKey, LocalQueue], key: QueueKey) -> str:
    """Return the name of the line in which those of a LocalQueue stand."""
    local = local_queues.get(key)
    return _OWN + "/".join(key) if local is None else local.cluster_queue


def cluster_queue_of(line: str) -> str:
    """Return for which ClusterQueue a line waits; empty: there is no such LocalQueue."""
    return "" if line.startswith(_OWN) else line


def queue_alone_in(line: str) -> QueueKey | None:
    """Return the LocalQueue that does not exist and has this line; None: it is that of a ClusterQueue."""
    if not line.startswith(_OWN):
        return None
    namespace, name = line.removeprefix(_OWN).split("/", 1)
    return namespace, name


def lines(snapshot: Snapshot) -> Mapping[str, Sequence[Workload]]:
    """Return by line, in order of the names, who waits there, first in order first.

    It is the order in which their queue's turns come. In which order queues have their turns is another question: that
    goes by shares where a tree shares fairly, else by the places of their heads.
    """
    found: dict[str, list[WorkloadClass]] = {}
    for kind in snapshot.waiting.runs:
        found.setdefault(line_of(snapshot.queues.local_queues, kind.queue), []).append(kind)
    heads = Heads(snapshot)
    return {name: _in_order(snapshot, heads, kinds) for name, kinds in sorted(found.items())}


def line(snapshot: Snapshot, name: str) -> Sequence[Workload]:
    """Return who waits in one line, first in order first."""
    local_queues = snapshot.queues.local_queues
    kinds = [kind for kind in snapshot.waiting.runs if line_of(local_queues, kind.queue) == name]
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
    return {one.uid: place for one, place in zip(line, each_place(line), strict=True)}


def each_place(line: Sequence[Workload]) -> Iterator[Place]:
    """Yield the place of each workload of a line."""
    reached: Counter[QueueKey] = Counter()
    for number, one in enumerate(line, start=1):
        reached[one.kind.queue] += 1
        yield Place(number, reached[one.kind.queue])
