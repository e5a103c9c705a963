"""Where past usage puts a workload among those of its cluster queue: after its priority, before its age."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from controller.core.past_usage import PastUsage
from controller.core.workloads import QueueKey, Workload, WorkloadClass

Rank = tuple[()] | tuple[int, tuple[bool, Fraction]]
"""Negated priority, and the usage of its LocalQueue; nothing where that does not order the queue."""


class PastUsages:
    """The usage of LocalQueues in one decision, what it admits counted in."""

    def __init__(self, known: Mapping[QueueKey, PastUsage]) -> None:
        self._known = known
        self._more: dict[QueueKey, int] = {}
        self._shares: dict[QueueKey, tuple[bool, Fraction]] = {}

    def rank(self, workload: Workload) -> Rank:
        """Return where a workload stands."""
        queue = workload.kind.queue
        past = self._known.get(queue)
        if past is None:
            return ()
        if queue not in self._shares:
            self._shares[queue] = past.share(self._more.get(queue, 0))
        return workload.order[0], self._shares[queue]

    def use(self, kind: WorkloadClass) -> bool:
        """A workload of a class was admitted; say whether others of its queue stand elsewhere by that."""
        past = self._known.get(kind.queue)
        if past is None:
            return False
        self._more[kind.queue] = self._more.get(kind.queue, 0) + past.rule.rate(kind.requests)
        del self._shares[kind.queue]
        return True
