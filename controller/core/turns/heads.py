"""Where the first of a class stands: in the line of its cluster queue, and among the heads of all lines."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from controller.core.snapshot import Snapshot
from controller.core.turns.nominations import Turn
from controller.core.turns.past_usage_order import PastUsages, Rank
from controller.core.workloads.workload import OrderKey, Workload, WorkloadClass, among_all, is_ahead

Head = tuple[int, Rank, OrderKey, int, WorkloadClass]
"""Of a class: how many began before its head to preempt others, all where it has not; where past usage puts it, its
place in the order and its index in its run; the class. Orders are total, so the class is never compared.
"""


class Heads:
    """The heads of one decision. What it admits counts where past usage orders a queue."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        begun = (uid for uid, preemptions in snapshot.waiting.preemptors.items() if preemptions)
        self._begun = {uid: number for number, uid in enumerate(begun)}
        self._past = PastUsages(snapshot.usage.past)

    def preemptors_first(self, run: Sequence[Workload]) -> Sequence[Workload] | None:
        """Return a run with those first for whom others went; None: it is as it is.

        What gangs lack comes before all else of a run, and may be those others.
        """
        if all(one.uid not in self._begun for one in run[1:]):
            return None
        return sorted(run, key=lambda one: self._begun.get(one.uid, len(self._begun)))

    def of(self, run: Sequence[Workload], index: int) -> Head:
        """Who preempts goes first: what others left for it must not be taken by whom it would preempt again.

        Of several who began first: the later may wait for what those leave who go for the earlier.
        """
        workload = run[index]
        begun = self._begun.get(workload.uid, len(self._begun))
        return begun, self._past.rank(workload), workload.order, index, workload.kind

    def in_order(self, run: Sequence[Workload], index: int, most: int) -> range:
        """Return where the next of a run are, at most so many, as long as each has a later place among all.

        What gangs lack comes before all else of its queue, but has no better place among all by that.
        """
        last = min(len(run), index + most)
        if index < last and is_ahead(run[index].order):
            last = bisect_left(range(last), True, lo=index, key=lambda at: not is_ahead(run[at].order))
        return range(index, last)

    def use(self, kind: WorkloadClass) -> bool:
        """A workload of a class was admitted; say whether others of its queue stand elsewhere by that."""
        return self._past.use(kind)

    @property
    def is_any_begun(self) -> bool:
        """Whether anybody has begun to preempt."""
        return bool(self._begun)

    def has_begun(self, head: Head) -> bool:
        """Say whether it is that of somebody who has begun to preempt."""
        return head[0] < len(self._begun)

    def turn(self, line: str, head: Head) -> Turn:
        """Return the turn of a line with this head."""
        _, _, order, _, _ = head
        # what is left of a gang goes on all the same: the others hold quota and wait for it
        is_behind = not is_ahead(order) and self._snapshot.usage.budgets.is_behind(self._snapshot.queues.tree, line)
        return is_behind, among_all(order), line

    def earliest(self, line: str, heads: Sequence[Head]) -> Turn | None:
        """Return a turn that none of a line's heads, a heap, comes before, whichever can go in; None: it has none."""
        if not heads:
            return None
        turn = self.turn(line, heads[0])
        if not is_ahead(heads[0][2]) and not self._snapshot.usage.past:
            return turn
        # what puts them first in their own line does not count among all
        return False, min(among_all(head[2]) for head in heads), line
