"""Where past usage puts a workload among those of its cluster queue: after its priority, before its age."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from controller.core.queueing.past_usage import PastUsage, Share, Whose
from controller.core.workloads.workload import QueueKey, Workload, WorkloadClass

Rank = tuple[()] | tuple[int, Share, Share]
"""Negated priority, usage of its namespace or LocalQueue and that of its user there; nothing where that orders nothing.
"""


class PastUsages:
    """The usage of namespaces or LocalQueues, and of their users, in one decision, what it admits counted in."""

    def __init__(self, known: Mapping[QueueKey, PastUsage]) -> None:
        self._known = known
        self._more: dict[tuple[Whose, str | None], int] = {}
        """By whose usage it is and by user; None: of all of them."""
        self._shares: dict[tuple[Whose, str | None], dict[Fraction, Share]] = {}
        """Likewise, by weight."""

    def rank(self, workload: Workload) -> Rank:
        """Return where a workload stands."""
        past = self._known.get(workload.kind.queue)
        if past is None:
            return ()
        whole, own = (past.whose, None), (past.whose, workload.kind.user)
        wholes, owns = self._shares.setdefault(whole, {}), self._shares.setdefault(own, {})
        if past.weight not in wholes:
            wholes[past.weight] = past.share(self._more.get(whole, 0))
        if past.weight not in owns:
            owns[past.weight] = past.share_of(workload.kind.user, self._more.get(own, 0))
        return workload.order[0], wholes[past.weight], owns[past.weight]

    def use(self, kind: WorkloadClass) -> bool:
        """A workload of a class was admitted; say whether others of its queue stand elsewhere by that."""
        past = self._known.get(kind.queue)
        if past is None:
            return False
        rate = past.rule.rate(kind.requests)
        for key in ((past.whose, None), (past.whose, kind.user)):
            self._more[key] = self._more.get(key, 0) + rate
            del self._shares[key]
        return True
