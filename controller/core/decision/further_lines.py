"""The classes of queues in which more than an admission may come of a look, in order, one after the other.

Most decisions come to the first of a queue alone: it waits, holds up the others of a StrictFIFO queue, or has the
reservation of a Backfill queue.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterator
from heapq import merge
from itertools import filterfalse

from controller.core.decision.admission_checks import AdmissionChecks
from controller.core.decision.runs import Runs
from controller.core.decision.selection import Selection
from controller.core.feasibility.feasible import FeasibilityIndex
from controller.core.snapshot import Snapshot
from controller.core.workloads.decisions import Wait
from controller.core.workloads.workload import OrderKey, QueueKey, WorkloadClass


class FurtherLines:
    """Those of one decision, by cluster queue."""

    def __init__(self, snapshot: Snapshot, selection: Selection, checks: AdmissionChecks, runs: Runs) -> None:
        self._snapshot = snapshot
        self._selection = selection
        self._checks = checks
        self._runs = runs
        self.at_once: list[str] = []
        """The queues that come up at once; the others, one after the other, to have a reservation."""
        self.only_to_book: list[str] = []
        self._left: dict[str, Iterator[WorkloadClass]] = {}
        self._first: dict[str, WorkloadClass] = {}
        self._latest: dict[str, WorkloadClass] = {}
        """The class of each that was returned last."""

    def open(self, index: FeasibilityIndex, lined: Collection[WorkloadClass], up: Container[str]) -> None:
        """Begin with those that are not in line by now; `up` are queues that have a line.

        Where no class may fit, nobody is held up by the first of a StrictFIFO queue.
        """
        lines, doors, local_queues = index.lines, dict[str, list[QueueKey]](), self._snapshot.queues.local_queues
        for key in lines if index.may_hear_more else ():
            local = local_queues.get(key)
            if local is None or local.cluster_queue not in index.may_hear_more:
                continue
            queue = self._checks.of(key)
            if isinstance(queue, Wait):
                continue
            name = queue.name
            if name in doors:
                doors[name].append(key)
            elif self._selection.may_preempt(queue) or (name in up and self._selection.may_hear_more(queue)):
                doors[name] = [key]
                self.at_once.append(name)
            elif self._selection.may_book(queue):
                doors[name] = [key]
                self.only_to_book.append(name)
        self._first = {name: min((lines[key][0] for key in doors[name]), key=self._place) for name in self.only_to_book}
        for name, keys in doors.items():
            found = [lines[key] for key in keys]
            in_order = iter(found[0]) if len(found) == 1 else merge(*found, key=self._place)
            self._left[name] = filterfalse(lined.__contains__, in_order)

    def next(self, name: str) -> list[WorkloadClass]:
        """Return the next of a queue; several where one may stand elsewhere than its place says."""
        found = list[WorkloadClass]()
        for kind in self._left.get(name, ()):
            found.append(kind)
            is_in_place = self._runs.of(kind) is self._snapshot.waiting.runs[kind] and kind.hold is None
            if is_in_place and kind.queue not in self._snapshot.usage.past:
                self._latest[name] = kind
                return found
        self._left.pop(name, None)
        return found

    def peek(self, name: str) -> WorkloadClass:
        """Return the first of a queue that is only to book."""
        return self._first[name]

    def first(self, name: str) -> list[WorkloadClass]:
        """Return the first of a queue, if nobody asked for it before."""
        return self.next(name) if name in self._left and name not in self._latest else []

    def is_latest(self, name: str, kind: WorkloadClass) -> bool:
        """Whether those of a queue are up to this class, so that the next has to come up after it."""
        return self._latest.get(name) == kind

    def _place(self, kind: WorkloadClass) -> OrderKey:
        return self._snapshot.waiting.runs[kind][0].order
