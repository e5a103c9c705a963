"""Settled classes of Backfill queues, of which the first of each queue may get a reservation (`core.backfill`).

Nothing can let them in now, so all that a decision has to know of them is who is first. Queues are brought up in the
order of their firsts, as many as there may be reservations, and another one where one of them has no use for it.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from heapq import heapify, heappop
from itertools import filterfalse

from controller.core.settled import Settled
from controller.core.snapshot import Snapshot
from controller.core.workloads import OrderKey, WorkloadClass, among_all

_Line = Iterator[WorkloadClass]
"""The classes of a LocalQueue, in order."""


class Standbys:
    """`in` says whether a class was brought up only to be reserved for."""

    def __init__(self, snapshot: Snapshot, settled: Settled, looked_at: Container[WorkloadClass]) -> None:
        """Leave out the classes that are looked at anyway."""
        self._lines: dict[str, list[tuple[WorkloadClass, _Line]]] = {}
        self._behind: dict[WorkloadClass, _Line] = {}
        firsts: dict[str, OrderKey] = {}
        for line in settled.lines(snapshot.runs):
            rest = filterfalse(looked_at.__contains__, line)
            kind = next(rest, None)
            if kind is None:
                continue
            queue, order = snapshot.local_queues[kind.queue].cluster_queue, among_all(snapshot.runs[kind][0].order)
            self._lines.setdefault(queue, []).append((kind, rest))
            firsts[queue] = min(order, firsts.get(queue, order))
        behind, tree = snapshot.budgets.is_behind, snapshot.tree
        self._heap = [(behind(tree, queue), order, queue) for queue, order in firsts.items()]
        heapify(self._heap)

    def __contains__(self, kind: object) -> bool:
        return kind in self._behind

    def of(self, queue: str) -> list[WorkloadClass]:
        """Bring up a queue: return the first of each of its LocalQueues; none where it was brought up before."""
        found = self._lines.pop(queue, [])
        self._behind.update(found)
        return [kind for kind, _ in found]

    def next_queue(self) -> list[WorkloadClass]:
        """Bring up the queue that is next in the order; none where all are."""
        while self._heap:
            found = self.of(heappop(self._heap)[2])
            if found:
                return found
        return []

    def behind(self, kind: WorkloadClass) -> WorkloadClass | None:
        """Bring up the class that stands behind this one in its LocalQueue."""
        line = self._behind[kind]
        found = next(line, None)
        if found is not None:
            self._behind[found] = line
        return found
