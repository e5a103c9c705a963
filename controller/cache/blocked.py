"""What an earlier decision said of each class, and what came free since."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from controller.cache.shortages import Shortages
from controller.cache.usage import Usage
from controller.core.backfill.easy import ends_in_time
from controller.core.queueing.queues import ClusterQueue, LocalQueue, QueueingStrategy
from controller.core.quota.quota_tree import QuotaTree
from controller.core.reasons import Reason
from controller.core.workloads.decisions import Reserved, Wait
from controller.core.workloads.workload import OrderKey, QueueKey, WorkloadClass
from controller.core.world.settled import HOPELESS, Settled

_UNDECIDED = frozenset({Reason.PREEMPTING, Reason.PRIORITY, Reason.WOULD_DELAY})
"""What has to be decided anew each time: demand that is held, what a head that may go now leaves, what time leaves."""


class Blocked(Settled):
    """`freed` are the nodes that have more room now. `queues` and `local_queues` are the cache's own, only read."""

    def __init__(self, queues: Mapping[str, ClusterQueue], local_queues: Mapping[QueueKey, LocalQueue]) -> None:
        super().__init__()
        self.freed: set[str] = set()
        self.to_open: dict[QueueKey, None] = {}
        """LocalQueues all of whose classes are to be opened before the next decision."""
        self.learned = 0
        """A number that is another one once more is known of any class."""
        self._hopeless: dict[WorkloadClass, None] = {}
        """Of Backfill queues those that no end of others lets in, and of those that may preempt who fits no node of
        some flavor; other nodes may.
        """
        self._on_nodes: dict[WorkloadClass, None] = {}
        """Those that wait for a later flavor, or may preempt and are at a limit over all flavors."""
        self._shortages = Shortages()
        self._beside: dict[WorkloadClass, frozenset[str]] = {}
        self._bound_by: dict[str, dict[WorkloadClass, None]] = {}
        """By workload that has a reservation those that found nobody to preempt beside it, in order."""
        self._queues = queues
        self._local_queues = local_queues

    def learn(self, kind: WorkloadClass, wait: Wait, order: OrderKey, beside: Reserved | None = None) -> None:
        """Take in why a class waits whose head stands there in the order.

        Where others stand behind it in a strict order, and where it has a reservation, it is looked at each time.
        `beside`: nobody was found to preempt for it, beside the reservations of these too.
        """
        self.learned += 1
        queue = self.queue_of(kind)
        strategy = None if queue is None else queue.strategy
        is_undecided = wait.reason in _UNDECIDED or wait.is_put_off
        if strategy is QueueingStrategy.STRICT_FIFO or is_undecided or wait.booking is not None:
            self.forget(kind)
            if wait.reason is Reason.PREEMPTING or wait.booking is not None:
                self.pending.stand(kind)
            else:
                self.pending.look_again(kind, order)
            if beside is not None and wait.reason is not Reason.PREEMPTING and not wait.is_put_off:
                self.waits[kind], self.left_alone[kind] = wait, beside.nodes
                self._note(kind, queue, wait)
            return
        may_preempt = queue is not None and queue.preemption.is_any
        # of a settled class not everything was looked at again
        former = self._beside.get(kind, frozenset())
        self.settle(kind, wait, may_preempt=may_preempt)
        self.bind(kind, former)
        if kind in self.waits:
            self._note(kind, queue, wait)
        self._hopeless.pop(kind, None)
        if may_preempt and any(one.rests_on_nodes for one in wait.blockers):
            self._hopeless[kind] = None
        if strategy is QueueingStrategy.BACKFILL and ends_in_time(wait):
            self.line_up(kind, order)
        elif strategy is QueueingStrategy.BACKFILL:
            self._hopeless[kind] = None

    def _note(self, kind: WorkloadClass, queue: ClusterQueue | None, wait: Wait) -> None:
        """Note which events concern a class of which this is known."""
        self._shortages.put(kind, "" if queue is None else queue.name, wait)
        if wait.later is not None or self._preempts_in_any(kind, wait):
            self._on_nodes[kind] = None

    def forget_said(self, kind: WorkloadClass) -> None:
        """Drop what was said of a class."""
        super().forget_said(kind)
        self._shortages.drop(kind)
        self._on_nodes.pop(kind, None)
        self._hopeless.pop(kind, None)
        self.rebooked.pop(kind, None)
        for uid in self._beside.pop(kind, ()):
            self._bound_by[uid].pop(kind, None)
            if not self._bound_by[uid]:
                del self._bound_by[uid]

    def bind(self, kind: WorkloadClass, booked: frozenset[str]) -> None:
        """Take in that nobody was found to preempt for a settled class, beside the reservations of these too."""
        self.rebooked.pop(kind, None)
        if booked and kind in self.waits and kind not in self.pending:
            self._beside[kind] = booked | self._beside.get(kind, frozenset())
            for uid in booked:
                self._bound_by.setdefault(uid, {})[kind] = None

    def rebook(self, uid: str, nodes: Collection[str], *, stirs: bool) -> bool:
        """Take in that a workload's reservation of these nodes gave way; say whether that stirs any."""
        kinds = self._bound_by.get(uid, {})
        for kind in kinds:
            self.rebooked.setdefault(kind, set()).update(nodes)
        self.stir(kinds if stirs else ())
        return stirs and bool(kinds)

    def head_left(self, kind: WorkloadClass) -> None:
        """Let the next of a class be looked at where it may preempt: it may have the better claim."""
        queue = self.queue_of(kind)
        if queue is not None and queue.preemption.is_any:
            self.open([kind])

    def queue_of(self, kind: WorkloadClass) -> ClusterQueue | None:
        """Return the cluster queue that the workloads of a class wait for, if there is one."""
        local = self._local_queues.get(kind.queue)
        return None if local is None else self._queues.get(local.cluster_queue)

    def open_for_nodes(self) -> None:
        """Let those be looked at again that other nodes make something else of.

        Who waits for a later flavor may never fit an earlier one now; who fitted nowhere may have a reservation, or
        have others go; at a limit over all flavors it rests on the nodes in which of them others would have to go.
        """
        self.open([*self._on_nodes, *(kind for kind in self._hopeless if kind not in self._on_nodes)])
        self._hopeless.clear()

    def _preempts_in_any(self, kind: WorkloadClass, wait: Wait) -> bool:
        if all(one.flavor for one in wait.blockers):
            return False
        queue = self.queue_of(kind)
        return queue is not None and queue.preemption.is_any

    def stir_for_preemption(self, kinds: Iterable[WorkloadClass], flavor: str, *, short_of_room: bool) -> None:
        """Stir those whom others are in the way of in a flavor, or at a limit over all.

        `short_of_room`: those too that only room is short for.
        """
        for kind in list(kinds):
            wait = self.waits.get(kind)
            found = wait.blockers if wait is not None else ()
            if any(
                one.flavor in (flavor, "")
                and one.reason not in HOPELESS
                and (short_of_room or one.reason is not Reason.NO_CAPACITY)
                for one in found
            ):
                self.stir([kind])

    def rest(self) -> bool:
        """Take in that all who were to be looked at were; say whether some are left to compare with freed nodes."""
        is_left = self.freed_room.rest()
        if not is_left:
            self.freed.clear()
        for kind in self.stirred:
            self.rebooked.pop(kind, None)
        self.stirred.clear()
        self.moved_shares.clear()
        self.learned += 1
        return is_left

    def open_for_quota(self, queue: str, flavors: Collection[str], tree: QuotaTree, usage: Usage) -> None:
        """Let those of a queue's classes be looked at again whose need there is quota for now, since some came free."""
        self.open(list(self._shortages.met(queue, flavors, tree, usage)))
