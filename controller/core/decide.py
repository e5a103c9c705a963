"""The one decision: who is admitted now, onto what, and why the others wait. Pure: same snapshot, same plan.

Each cluster queue is a line with one head, the first of its classes' heads. Of all heads the first in the order of
workloads goes next, whether it has to borrow or not; then its line's next head takes part.

Within one decision quota and room only shrink, so what was blocked once stays blocked: each class of workloads has to
fail only once, whatever its length. Cost follows classes and admissions, not waiting pods.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush

from controller.core.decisions import Admit, Plan, Wait
from controller.core.doors import door
from controller.core.ledger import Ledger
from controller.core.placement import Placement, place
from controller.core.queues import ClusterQueue, QueueingStrategy
from controller.core.reasons import QUOTA_REASONS, Reason
from controller.core.snapshot import Snapshot
from controller.core.user_limits import UserUsage
from controller.core.workloads import Hold, OrderKey, QueueKey, Workload, WorkloadClass

_Head = tuple[OrderKey, int, WorkloadClass]
"""Of a class: place in the order, index in its run, class. Orders are total, so the class is never compared."""

_Line = tuple[ClusterQueue, list[_Head]]
"""A cluster queue and the heap of its classes' heads."""

_Turn = tuple[bool, OrderKey, str]
"""Of a line: whether a budget sends it behind all others, its head's place in the order, the cluster queue's name."""


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

    def run(self) -> Plan:
        for kind, run in self._snapshot.runs.items():
            queue = self._enter(kind)
            if queue is not None:
                self._lines.setdefault(queue.name, (queue, []))[1].append((run[0].order, 0, kind))
        for _, heads in self._lines.values():
            heapify(heads)
        self._turns = [self._turn(name, heads) for name, (_, heads) in self._lines.items()]
        heapify(self._turns)
        while self._turns:
            if len(self._admits) >= self._limit:
                return self._plan(is_complete=False)
            self._take(heappop(self._turns)[2])
        return self._plan(is_complete=True)

    def _plan(self, *, is_complete: bool) -> Plan:
        return Plan(tuple(self._admits), self._waits, is_complete)

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
        if is_strict or blocked is None or (self._snapshot.freed and _waits_for_room(blocked)):
            return entrance
        return None

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
        _, index, kind = heappop(heads)
        run = self._snapshot.runs[kind]
        strict = queue.strategy is QueueingStrategy.STRICT_FIFO
        only_freed = not strict and self._blocked(kind) is not None
        found = self._find(queue, kind, only_freed=only_freed)
        if isinstance(found, Placement):
            self._admit(run[index], queue, found)
            if index + 1 < len(run):
                heappush(heads, (run[index + 1].order, index + 1, kind))
        else:
            if not only_freed:
                self._waits[kind] = found
            if strict:
                self._close(queue, heads)
                return
        if heads:
            heappush(self._turns, self._turn(name, heads))

    def _turn(self, name: str, heads: list[_Head]) -> _Turn:
        return self._snapshot.budgets.is_behind(self._snapshot.tree, name), heads[0][0], name

    def _find(self, queue: ClusterQueue, kind: WorkloadClass, *, only_freed: bool) -> Placement | Wait:
        if kind.hold is not None:
            return _held(kind.hold)
        limit = self._users.blocker(queue.name, kind.shape.user, kind.shape.requests)
        if limit is not None:
            return Wait(limit.reason, blockers=(limit,))
        return place(self._snapshot, self._ledger, queue, kind.shape, only_freed=only_freed)

    def _admit(self, workload: Workload, queue: ClusterQueue, found: Placement) -> None:
        self._ledger.spend(queue.name, found.flavor, workload.kind.shape, found.node)
        self._users.add(queue.name, workload.kind.shape.user, workload.kind.shape.requests)
        self._admits.append(Admit(workload, queue.name, found.flavor.name, found.node))

    def _close(self, queue: ClusterQueue, heads: list[_Head]) -> None:
        """The head of a strict queue waits: so does everything behind it."""
        for _, _, kind in heads:
            if kind.hold is None:
                self._waits[kind] = Wait(Reason.PRIORITY, f"behind others in the StrictFIFO queue {queue.name}")
            else:
                self._waits[kind] = _held(kind.hold)


def _held(hold: Hold) -> Wait:
    return Wait(hold.reason, hold.text)


def _waits_for_room(wait: Wait) -> bool:
    return any(blocker.reason not in QUOTA_REASONS for blocker in wait.blockers)
