"""Where past usage puts a workload among those of its cluster queue: after its priority, before its age."""

from __future__ import annotations

from collections.abc import Mapping

from controller.core.queueing.past_usage import PastUsage, Share
from controller.core.workloads.workload import QueueKey, Workload, WorkloadClass

Rank = tuple[()] | tuple[int, Share, Share]
"""Negated priority, usage of its LocalQueue and that of its user there; nothing where that does not order the queue."""


class PastUsages:
    """The usage of LocalQueues and their users in one decision, what it admits counted in."""

    def __init__(self, known: Mapping[QueueKey, PastUsage]) -> None:
        self._known = known
        self._more: dict[tuple[QueueKey, str | None], int] = {}
        """By LocalQueue and user; None: of all of them."""
        self._shares: dict[tuple[QueueKey, str | None], Share] = {}

    def rank(self, workload: Workload) -> Rank:
        """Return where a workload stands."""
        past = self._known.get(workload.kind.queue)
        if past is None:
            return ()
        queue, user = workload.kind.queue, workload.kind.user
        whole, own = (queue, None), (queue, user)
        if whole not in self._shares:
            self._shares[whole] = past.share(self._more.get(whole, 0))
        if own not in self._shares:
            self._shares[own] = past.share_of(user, self._more.get(own, 0))
        return workload.order[0], self._shares[whole], self._shares[own]

    def use(self, kind: WorkloadClass) -> bool:
        """A workload of a class was admitted; say whether others of its queue stand elsewhere by that."""
        past = self._known.get(kind.queue)
        if past is None:
            return False
        rate = past.rule.rate(kind.requests)
        for key in ((kind.queue, None), (kind.queue, kind.user)):
            self._more[key] = self._more.get(key, 0) + rate
            del self._shares[key]
        return True
