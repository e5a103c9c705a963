"""What an earlier decision said of each class, and what came free since."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from controller.cache.usage import Usage
from controller.core.backfill import ends_in_time
from controller.core.decisions import Blocker, Wait
from controller.core.queues import ClusterQueue, LocalQueue, QueueingStrategy
from controller.core.quota_tree import QuotaTree
from controller.core.reasons import QUOTA_REASONS, Reason
from controller.core.settled import Settled
from controller.core.workloads import OrderKey, QueueKey, WorkloadClass

_UNDECIDED = frozenset({Reason.PREEMPTING, Reason.PRIORITY, Reason.WOULD_DELAY})
"""What has to be decided anew each time: demand that is held, what a head that may go now leaves, what time leaves."""


class Blocked(Settled):
    """`freed` are the nodes that have more room now. `queues` and `local_queues` are the cache's own, only read."""

    def __init__(self, queues: Mapping[str, ClusterQueue], local_queues: Mapping[QueueKey, LocalQueue]) -> None:
        super().__init__()
        self.freed: set[str] = set()
        self._hopeless: set[WorkloadClass] = set()
        """Of Backfill queues those that no end of others lets in; other nodes may."""
        self._queues = queues
        self._local_queues = local_queues

    def learn(self, kind: WorkloadClass, wait: Wait, order: OrderKey) -> None:
        """Take in why a class waits whose head stands there in the order.

        Where others stand behind it in a strict order, and where it has a reservation, it is looked at each time.
        """
        local = self._local_queues.get(kind.queue)
        queue = None if local is None else self._queues.get(local.cluster_queue)
        strategy = None if queue is None else queue.strategy
        if strategy is QueueingStrategy.STRICT_FIFO or wait.reason in _UNDECIDED or wait.booking is not None:
            self.open([kind])
            return
        self.settle(kind, wait, may_preempt=queue is not None and queue.preemption.is_any)
        if strategy is QueueingStrategy.BACKFILL and ends_in_time(wait):
            self.line_up(kind, order)
        elif strategy is QueueingStrategy.BACKFILL:
            self._hopeless.add(kind)

    def open_for_nodes(self) -> None:
        """Let those be looked at again that other nodes make something else of.

        Who waits for a later flavor may never fit an earlier one now; who fitted nowhere may have a reservation.
        """
        self.open([kind for kind, wait in self.waits.items() if wait.later is not None or kind in self._hopeless])
        self._hopeless.clear()

    def open_for_quota(
        self, kinds: Iterable[WorkloadClass], queue: str, flavors: Collection[str], tree: QuotaTree, usage: Usage
    ) -> None:
        """Let those of a queue's classes be looked at again whose need there is quota for now, since some came free."""
        for kind in kinds:
            wait = self.waits.get(kind)
            if wait is not None and any(_is_gone(one, queue, flavors, tree, usage) for one in wait.blockers):
                self.open([kind])


def _is_gone(blocker: Blocker, queue: str, flavors: Collection[str], tree: QuotaTree, usage: Usage) -> bool:
    if blocker.reason not in QUOTA_REASONS or blocker.resource is None:
        return False
    if blocker.reason is Reason.USER_LIMIT:
        most = tree.user_limits(blocker.at).get(blocker.resource, 0)
        return blocker.need <= most - usage.by_user.used(blocker.at, blocker.user, blocker.resource)
    if not blocker.flavor:
        most = tree.limits(blocker.at).get(blocker.resource, 0)
        return blocker.need <= most - usage.in_tree.used(blocker.at, "", blocker.resource)
    if blocker.flavor not in flavors:
        return False
    return blocker.need <= usage.in_tree.available(queue, (blocker.flavor, blocker.resource)).amount
