"""Which classes a decision looks at: those that may fit, and those where more than an admission may come of a look."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Final

from controller.core.backfill.easy import Backfill
from controller.core.feasibility.feasible import FeasibilityIndex, Feasible
from controller.core.ledgers.ledger import Ledger
from controller.core.preemption.preempting import Preempting
from controller.core.queueing.queues import ClusterQueue, QueueingStrategy
from controller.core.snapshot import Snapshot
from controller.core.workloads.workload import Workload, WorkloadClass

_IN_VAIN: Final = 16
"""After so many looks in vain in a row, and not before, what may fit is tested again: it takes as long as a few."""


class Selection:
    """That of one decision. Before `open`, which those precede who have begun to preempt, everybody is looked at."""

    def __init__(
        self,
        snapshot: Snapshot,
        index: FeasibilityIndex | None,
        ledger: Ledger,
        backfill: Backfill | None,
        preempting: Preempting,
    ) -> None:
        self._snapshot = snapshot
        self._index = index
        self._ledger = ledger
        self._backfill = backfill
        self._preempting = preempting
        self._feasible: Feasible | None = None
        self._charges = 0
        self.in_vain = 0
        """How many looks in a row admitted nobody."""

    def open(self) -> Iterable[WorkloadClass]:
        """Test what may fit now; return these classes and those that are asked about: all, where that is not told.

        They are in an order that equal worlds share.
        """
        asked, runs = self._snapshot.waiting.asked, self._snapshot.waiting.runs
        if asked is None or self._index is None:
            return runs
        self._feasible = Feasible(self._snapshot, self._index, self._ledger)
        return dict.fromkeys(chain(self._feasible.classes, (kind for kind in asked if kind in runs)))

    def is_closed(self, queue: ClusterQueue, head: Workload) -> bool:
        """Whether the head of a class cannot fit, and nothing else would come of a look at it."""
        if self.is_to_look_at(queue, head.kind):
            return False
        return not self.may_preempt(queue) or not self._preempting.search.any_victims.may_be(queue, head)

    def is_to_look_at(self, queue: ClusterQueue, kind: WorkloadClass) -> bool:
        """Whether a class is looked at even where nobody may go for it."""
        asked = self._snapshot.waiting.asked
        if self._feasible is None or kind in self._feasible.classes or asked is None or kind in asked:
            return True
        return self._holds_up_or_books(queue)

    def stays(self, queue: ClusterQueue, kind: WorkloadClass) -> bool:
        """Whether a class stays in its line after a `refresh`."""
        return self.may_hear_more(queue) or self.is_to_look_at(queue, kind)

    def refresh(self) -> bool:
        """Test again what may fit after enough looks in vain; say whether that was done.

        It is not where nothing was taken since.
        """
        if self.in_vain < _IN_VAIN or self._feasible is None or self._charges == self._ledger.charges:
            return False
        self.in_vain, self._charges = 0, self._ledger.charges
        self._feasible.refresh()
        return True

    def may_hear_more(self, queue: ClusterQueue) -> bool:
        """Whether more than an admission may come of a look at the classes of a queue."""
        return self.may_preempt(queue) or self._holds_up_or_books(queue)

    def may_preempt(self, queue: ClusterQueue) -> bool:
        """Whether pods may be preempted for a class of a queue."""
        return self._preempting.looks_in(queue)

    def may_book(self, queue: ClusterQueue) -> bool:
        """Whether a class of a queue may have a reservation."""
        return self._backfill is not None and self._backfill.may_book(queue)

    def _holds_up_or_books(self, queue: ClusterQueue) -> bool:
        return queue.strategy is QueueingStrategy.STRICT_FIFO or self.may_book(queue)
