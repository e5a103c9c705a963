"""The one decision: who is admitted now, onto what, and why the others wait. Pure: same snapshot, same plan.

Each cluster queue is a line with one head, the first of its classes' heads. Of all heads the first in the order of
workloads goes next, whether it has to borrow or not; then its line's next head takes part.

Within one decision quota and room only shrink, so what was blocked once stays blocked: each class of workloads has to
fail only once, whatever its length. Cost follows classes and admissions, not waiting pods.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heappop, heappush

from controller.core.backfill import Backfill
from controller.core.booked import AnyLedger
from controller.core.decisions import Admit, Plan, Wait
from controller.core.doors import door
from controller.core.evictions import evictions
from controller.core.ledger import Ledger
from controller.core.placement import Placements, brought_up_to_date, place
from controller.core.preempting import Preempting
from controller.core.queues import ClusterQueue, QueueingStrategy
from controller.core.reasons import QUOTA_REASONS, Reason
from controller.core.snapshot import Snapshot
from controller.core.user_limits import UserUsage
from controller.core.workloads import Hold, OrderKey, QueueKey, Workload, WorkloadClass, among_all, is_ahead

_Head = tuple[bool, OrderKey, int, WorkloadClass]
"""Of a class: whether nobody was preempted for its head; the head's place in the order and index in its run; the class.

Orders are total, so the class is never compared.
"""

_Line = tuple[ClusterQueue, list[_Head]]
"""A cluster queue and the heap of its classes' heads."""

_Turn = tuple[bool, bool, OrderKey, str]
"""Of a line: whether nobody was preempted for its head, whether a budget sends it behind all others, its head's place
among all, the cluster queue's name."""


def decide(snapshot: Snapshot, *, limit: int) -> Plan:
    """Admit as many workloads as quota and room allow, first in order first, at most `limit` of them."""
    return _Decision(snapshot, limit).run()


class _Decision:
    """The state of one decision, from its snapshot to its plan."""

    def __init__(self, snapshot: Snapshot, limit: int) -> None:
        self._snapshot = snapshot
        self._limit = limit
        self._ledger = Ledger(snapshot)
        self._users = UserUsage(snapshot.tree, snapshot.user_usage)
        self._doors: dict[QueueKey, ClusterQueue | Wait] = {}
        self._lines: dict[str, _Line] = {}
        self._turns: list[_Turn] = []
        self._admits: list[Admit] = []
        self._waits: dict[WorkloadClass, Wait] = {}
        forecast = snapshot.forecast
        self._backfill = None if forecast is None else Backfill(snapshot, forecast, self._ledger)
        self._preempting = Preempting(snapshot, self._ledger)
        self._makes_room: set[WorkloadClass] = set()
        self._preemptors: set[str] = set()

    def run(self) -> Plan:
        for kind, run in self._snapshot.runs.items():
            queue = self._enter(kind)
            if queue is not None:
                self._lines.setdefault(queue.name, (queue, []))[1].append(self._head(run, 0))
        for _, heads in self._lines.values():
            heapify(heads)
        self._turns = [self._turn(name, heads) for name, (_, heads) in self._lines.items()]
        heapify(self._turns)
        while self._turns:
            name = self._turns[0][3]
            if self._is_over(self._lines[name][1][0][3]):
                return self._plan(is_complete=False)
            heappop(self._turns)
            self._take(name)
        return self._plan(is_complete=True)

    def _head(self, run: Sequence[Workload], index: int) -> _Head:
        """Who preempts goes first: what others left for it must not be taken by whom it would preempt again."""
        workload = run[index]
        is_first = workload.uid in self._snapshot.preemptors
        return not is_first, workload.order, index, workload.kind

    def _is_over(self, kind: WorkloadClass) -> bool:
        """Whether the limit ends the decision before a workload of this class; a gang larger than it goes alone."""
        done = len(self._admits)
        return done >= self._limit or (done > 0 and done + kind.size > self._limit)

    def _plan(self, *, is_complete: bool) -> Plan:
        evicts = evictions(self._snapshot, self._preempting.evicts)
        return Plan(tuple(self._admits), self._waits, is_complete, evicts, frozenset(self._preemptors))

    def _enter(self, kind: WorkloadClass) -> ClusterQueue | None:
        """Return the queue in whose line the class stands; None when it need not be looked at, or waits at the door."""
        entrance = self._door(kind.queue)
        is_strict = not isinstance(entrance, Wait) and entrance.strategy is QueueingStrategy.STRICT_FIFO
        # a refused release is tried again within a minute, and keeps its place in a strict queue until then
        if kind.hold is not None and not (is_strict and kind.hold.reason is Reason.PATCH_REJECTED):
            self._waits[kind] = _held(kind.hold)
            return None
        if isinstance(entrance, Wait):
            self._waits[kind] = entrance
            return None
        blocked = self._blocked(kind)
        if is_strict or blocked is None or (_waits_for_room(blocked) and self._may_have_room(entrance, kind)):
            return entrance
        # it need not be looked at, but it may be the first of its queue, or wait for what another has reserved no more
        is_behind = blocked.reason is Reason.WOULD_DELAY
        return entrance if is_behind or entrance.strategy is QueueingStrategy.BACKFILL else None

    def _may_have_room(self, queue: ClusterQueue, kind: WorkloadClass) -> bool:
        """Whether what was freed may be enough for one pod of the class; who may preempt needs less."""
        if not self._snapshot.freed:
            return False
        return queue.preemption.is_any or any(self._ledger.has_freed_room(one.shape) for one in kind.pod_sets)

    def _blocked(self, kind: WorkloadClass) -> Wait | None:
        """Return the arithmetic that blocked the class earlier; a class that was never placed has none."""
        wait = self._snapshot.blocked.get(kind)
        return wait if wait is not None and wait.blockers else None

    def _door(self, key: QueueKey) -> ClusterQueue | Wait:
        found = self._doors.get(key)
        if found is None:
            found = self._doors[key] = door(self._snapshot, key)
        return found

    def _take(self, name: str) -> None:
        """Let the head of a line be admitted, or wait with all of its class."""
        queue, heads = self._lines[name]
        _, _, index, kind = heappop(heads)
        run = self._snapshot.runs[kind]
        strict = queue.strategy is QueueingStrategy.STRICT_FIFO
        if self._backfill is not None and self._stays_blocked(self._backfill, queue, run[index]):
            goes_on = False
        else:
            goes_on = self._look(queue, run[index])
        if strict and not goes_on:
            self._close(queue, heads)
            return
        if goes_on and index + 1 < len(run):
            heappush(heads, self._head(run, index + 1))
        if heads:
            heappush(self._turns, self._turn(name, heads))

    def _look(self, queue: ClusterQueue, workload: Workload) -> bool:
        """Admit a workload or let it wait; say whether the next one of its class may be looked at."""
        kind = workload.kind
        strict = queue.strategy is QueueingStrategy.STRICT_FIFO
        known = None if strict or kind.size > 1 else self._blocked(kind)
        if known is not None:
            # who may preempt is told in full what is short: somebody may go for it. What is free and kept for another,
            # or was, is not told by what was freed
            is_kept = self._backfill is not None and self._backfill.is_any
            is_told = queue.preemption.is_any or is_kept or known.reason is Reason.WOULD_DELAY
            known = None if is_told else known
        found = self._find(queue, kind, only_freed=known is not None)
        if isinstance(found, Wait):
            return self._wait(workload, queue, known, found) and not strict
        self._admit(workload, queue, found)
        return True

    def _stays_blocked(self, backfill: Backfill, queue: ClusterQueue, workload: Workload) -> bool:
        """Say whether nothing was freed for a class since it was blocked; the first of its queue is reserved for."""
        kind = workload.kind
        blocked = self._blocked(kind)
        if blocked is None or queue.strategy is QueueingStrategy.STRICT_FIFO or not backfill.stands(kind, blocked):
            return False
        if _waits_for_room(blocked) and self._may_have_room(queue, kind):
            return False
        wait = backfill.book(queue, workload, blocked)
        if wait is not blocked:
            self._waits[kind] = wait
        return True

    def _turn(self, name: str, heads: list[_Head]) -> _Turn:
        is_not_first, order, _, _ = heads[0]
        # what is left of a gang goes on all the same: the others hold quota and wait for it
        is_behind = not is_ahead(order) and self._snapshot.budgets.is_behind(self._snapshot.tree, name)
        return is_not_first, is_behind, among_all(order), name

    def _wait(self, workload: Workload, queue: ClusterQueue, known: Wait | None, found: Wait) -> bool:
        """Note why a class waits, unless just what was known is so still; say whether its next one may be looked at."""
        kind = workload.kind
        if known is not None:
            found = brought_up_to_date(known, found)
        preempting = self._preempting.make_room(queue, workload, found, self._left(queue, kind))
        if preempting is None and self._backfill is not None:
            found = self._backfill.book(queue, workload, found)
        if preempting is not None:
            self._makes_room.add(kind)
            self._preemptors.add(workload.uid)
            self._waits[kind] = preempting
        elif found is not known and kind not in self._makes_room:
            self._waits[kind] = found
        return preempting is not None

    def _find(self, queue: ClusterQueue, kind: WorkloadClass, *, only_freed: bool) -> Placements | Wait:
        if kind.hold is not None:
            return _held(kind.hold)
        limit = self._users.first_blocker(queue.name, kind)
        if limit is not None:
            return Wait(limit.reason, blockers=(limit,))
        if self._backfill is not None:
            return self._backfill.place(queue, kind, only_freed=only_freed)
        return place(self._snapshot, self._ledger, queue, kind, only_freed=only_freed)

    def _left(self, queue: ClusterQueue, kind: WorkloadClass) -> AnyLedger:
        """Return what a class may take of what is left."""
        return self._ledger if self._backfill is None else self._backfill.view(queue, kind)

    def _admit(self, workload: Workload, queue: ClusterQueue, found: Placements) -> None:
        shapes = [one.shape for one in workload.kind.pod_sets for _ in range(one.count)]
        ledger = self._left(queue, workload.kind)
        if self._backfill is not None:
            self._backfill.took(queue, workload, found)
        for uid, shape, one in zip(workload.pods, shapes, found, strict=True):
            ledger.spend(queue.name, one.flavor, shape.requests, one.node)
            self._users.add(queue.name, shape.user, shape.requests)
            self._admits.append(Admit(uid, workload, queue.name, one.flavor.name, one.node))

    def _close(self, queue: ClusterQueue, heads: list[_Head]) -> None:
        """The head of a strict queue waits: so does everything behind it."""
        for *_, kind in heads:
            if kind.hold is None:
                self._waits[kind] = Wait(Reason.PRIORITY, f"behind others in the StrictFIFO queue {queue.name}")
            else:
                self._waits[kind] = _held(kind.hold)


def _held(hold: Hold) -> Wait:
    return Wait(hold.reason, hold.text)


def _waits_for_room(wait: Wait) -> bool:
    return any(blocker.reason not in QUOTA_REASONS for blocker in wait.blockers)
