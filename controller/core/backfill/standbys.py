"""Settled classes of Backfill queues, of which the first of each queue may get a reservation (`backfill.easy`).

Nothing can let them in now, so all that a decision has to know of them is who is first. Queues are brought up in the
order of their firsts, as many as there may be reservations, and another one where one of them has no use for it.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from heapq import heapify, heappop, heappush
from itertools import filterfalse

from controller.core.workloads.workload import OrderKey, QueueKey, WorkloadClass, among_all
from controller.core.world.settled import Settled
from controller.core.world.snapshot import Snapshot

_Line = Iterator[WorkloadClass]
"""The classes of a LocalQueue, in order."""


class Standbys:
    """`in` says whether a class was brought up only to be reserved for."""

    def __init__(self, snapshot: Snapshot, settled: Settled, looked_at: Container[WorkloadClass]) -> None:
        """Leave out the classes that are looked at anyway."""
        self._snapshot = snapshot
        self._settled = settled
        self._looked_at = looked_at
        self._doors: dict[str, list[QueueKey]] = {}
        """LocalQueues by cluster queue, of which none was brought up."""
        self._behind: dict[WorkloadClass, _Line] = {}
        self._heap: list[tuple[bool, OrderKey, QueueKey]] | None = None
        self._firsts = settled.firsts(snapshot.runs)
        for _, door in self._firsts:
            self._doors.setdefault(snapshot.local_queues[door].cluster_queue, []).append(door)

    def __contains__(self, kind: object) -> bool:
        return kind in self._behind

    def of(self, queue: str) -> list[WorkloadClass]:
        """Bring up a queue: return the first of each of its LocalQueues; none where it was brought up before."""
        return [kind for kind in map(self._bring_up, self._doors.pop(queue, ())) if kind is not None]

    def _bring_up(self, door: QueueKey) -> WorkloadClass | None:
        line = self._line(door)
        kind = next(line, None)
        if kind is not None:
            self._behind[kind] = line
        return kind

    def _line(self, door: QueueKey) -> _Line:
        return filterfalse(self._looked_at.__contains__, self._settled.line(door, self._snapshot.runs))

    @property
    def queues(self) -> list[str]:
        """The queues that were not brought up."""
        return list(self._doors)

    def next_queue(self) -> list[WorkloadClass]:
        """Bring up the queue that is next in the order; none where all are."""
        if not self._doors:
            return []
        if self._heap is None:
            self._heap = [(self._is_behind(door), order, door) for order, door in self._firsts]
            heapify(self._heap)
        while self._heap:
            is_behind, order, door = heappop(self._heap)
            queue = self._snapshot.local_queues[door].cluster_queue
            if queue not in self._doors:
                continue
            kind = next(self._line(door), None)
            own = order if kind is None else among_all(self._snapshot.runs[kind][0].order)
            if own != order:
                heappush(self._heap, (is_behind, own, door))
            elif kind is not None:
                return self.of(queue)
        return []

    def _is_behind(self, door: QueueKey) -> bool:
        queue = self._snapshot.local_queues[door].cluster_queue
        return self._snapshot.budgets.is_behind(self._snapshot.tree, queue)

    def behind(self, kind: WorkloadClass) -> WorkloadClass | None:
        """Bring up the class that stands behind this one in its LocalQueue."""
        line = self._behind[kind]
        found = next(line, None)
        if found is not None:
            self._behind[found] = line
        return found
