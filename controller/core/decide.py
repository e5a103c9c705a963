"""The one decision: who is admitted now, onto what, and why the others wait. Pure: same snapshot, same plan.

Within one decision quota and room only shrink, so what was blocked once stays blocked: each class of workloads has to
fail only once, whatever its length. Cost follows classes and admissions, not waiting pods.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush

from controller.core.decisions import Admit, Plan, Wait
from controller.core.ledger import Ledger
from controller.core.placement import Placement, place
from controller.core.queues import ClusterQueue, QueueingStrategy, StopPolicy
from controller.core.reasons import Reason
from controller.core.snapshot import Snapshot
from controller.core.workloads import OrderKey, QueueKey, Workload, WorkloadClass

_Head = tuple[OrderKey, int, WorkloadClass]
"""Heap entry: place in the order, index in its run, class. Orders are total, so the class is never compared."""


def decide(snapshot: Snapshot, *, limit: int) -> Plan:
    """Admit as many workloads as quota and room allow, first in order first, at most `limit` of them."""
    return _Decision(snapshot, limit).run()


class _Decision:
    """The state of one decision, from its snapshot to its plan."""

    def __init__(self, snapshot: Snapshot, limit: int) -> None:
        self._snapshot = snapshot
        self._limit = limit
        self._ledger = Ledger(snapshot)
        self._doors: dict[QueueKey, ClusterQueue | Wait] = {}
        self._admits: list[Admit] = []
        self._waits: dict[WorkloadClass, Wait] = {}
        self._blocked_by: set[str] = set()

    def run(self) -> Plan:
        heads: list[_Head] = []
        for kind, run in self._snapshot.runs.items():
            if self._is_open(kind):
                heads.append((run[0].order, 0, kind))
        heapify(heads)
        while heads:
            if len(self._admits) >= self._limit:
                return self._plan(is_complete=False)
            _, index, kind = heappop(heads)
            run = self._snapshot.runs[kind]
            if self._try(run[index]) and index + 1 < len(run):
                heappush(heads, (run[index + 1].order, index + 1, kind))
        return self._plan(is_complete=True)

    def _plan(self, *, is_complete: bool) -> Plan:
        return Plan(tuple(self._admits), self._waits, is_complete)

    def _is_open(self, kind: WorkloadClass) -> bool:
        """Say whether the class has to be looked at; one that cannot pass its queue's door waits at once."""
        door = self._door(kind.queue)
        is_strict = not isinstance(door, Wait) and door.strategy is QueueingStrategy.STRICT_FIFO
        if kind.hold is not None:
            self._waits[kind] = Wait(kind.hold.reason, kind.hold.text)
            # a refused release is tried again within a minute, and keeps its place in a strict queue until then
            return is_strict and kind.hold.reason is Reason.PATCH_REJECTED
        if isinstance(door, Wait):
            self._waits[kind] = door
            return False
        if is_strict:
            return True
        blocked = self._blocked(kind)
        return blocked is None or (bool(self._snapshot.freed) and _waits_for_room(blocked))

    def _blocked(self, kind: WorkloadClass) -> Wait | None:
        """Return the arithmetic that blocked the class earlier; a class that was never placed has none."""
        wait = self._snapshot.blocked.get(kind)
        return wait if wait is not None and wait.blockers else None

    def _door(self, key: QueueKey) -> ClusterQueue | Wait:
        door = self._doors.get(key)
        if door is None:
            door = self._doors[key] = _resolve(self._snapshot, key)
        return door

    def _try(self, workload: Workload) -> bool:
        """Admit the workload, or let its whole class wait; say which (True: admitted)."""
        kind = workload.kind
        queue = self._door(kind.queue)
        if isinstance(queue, Wait):
            self._waits[kind] = queue
            return False
        if queue.name in self._blocked_by:
            if kind.hold is None:
                self._waits[kind] = Wait(Reason.PRIORITY, f"behind others in the StrictFIFO queue {queue.name}")
            return False
        if kind.hold is not None:
            self._blocked_by.add(queue.name)
            return False
        strict = queue.strategy is QueueingStrategy.STRICT_FIFO
        only_freed = not strict and self._blocked(kind) is not None
        found = place(self._snapshot, self._ledger, queue, kind.shape, only_freed=only_freed)
        if isinstance(found, Placement):
            self._ledger.spend(queue.name, found.flavor, kind.shape, found.node)
            self._admits.append(Admit(workload, queue.name, found.flavor.name, found.node))
            return True
        if not only_freed:
            self._waits[kind] = found
        if strict:
            self._blocked_by.add(queue.name)
        return False


def _waits_for_room(wait: Wait) -> bool:
    return any(blocker.reason is not Reason.QUOTA_EXCEEDED for blocker in wait.blockers)


def _resolve(snapshot: Snapshot, key: QueueKey) -> ClusterQueue | Wait:
    """Follow a local queue to its cluster queue; a Wait says why its workloads are not looked at."""
    namespace, name = key
    local = snapshot.local_queues.get(key)
    if local is None:
        text = f"LocalQueue {name} does not exist in namespace {namespace}" if name else "the pod names no queue"
        return Wait(Reason.QUEUE_NOT_FOUND, text)
    queue = snapshot.cluster_queues.get(local.cluster_queue)
    if queue is None:
        fault = snapshot.faulty_queues.get(local.cluster_queue)
        if fault is not None:
            return Wait(Reason.QUEUE_INVALID, fault)
        return Wait(Reason.QUEUE_NOT_FOUND, f"ClusterQueue {local.cluster_queue} of LocalQueue {name} does not exist")
    if local.stop is not StopPolicy.NONE:
        return Wait(Reason.QUEUE_STOPPED, f"LocalQueue {name} has stopPolicy {local.stop}")
    return _enter(snapshot, queue, namespace)


def _enter(snapshot: Snapshot, queue: ClusterQueue, namespace: str) -> ClusterQueue | Wait:
    if queue.stop is not StopPolicy.NONE:
        return Wait(Reason.QUEUE_STOPPED, f"ClusterQueue {queue.name} has stopPolicy {queue.stop}")
    labels = snapshot.namespaces.get(namespace)
    if labels is None:
        return Wait(Reason.PENDING, f"namespace {namespace} is not known yet")
    if queue.namespaces is None or not queue.namespaces.matches(labels):
        text = f"the namespaceSelector of ClusterQueue {queue.name} does not select namespace {namespace}"
        return Wait(Reason.NAMESPACE_NOT_SELECTED, text)
    missing = [quota.flavor for quota in queue.flavors if quota.flavor not in snapshot.flavors]
    if missing:
        text = f"ClusterQueue {queue.name} names ResourceFlavor {missing[0]}, which does not exist or is invalid"
        return Wait(Reason.QUEUE_INVALID, text)
    return queue
