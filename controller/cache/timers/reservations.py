"""Which reserved pods have no node for longer than their queue allows. Rule: `core.eviction_rules.reservations`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from controller.cache.timers.timers import Timers
from controller.core.eviction_rules.reservations import overdue_at
from controller.core.queueing.queues import ClusterQueue
from controller.core.workloads.pods import Pod


class Reservations:
    """`overdue` has their uids. Costs nothing for queues without reservationTimeout."""

    def __init__(self, queues: Mapping[str, ClusterQueue]) -> None:
        """The cache's own queues, read as they are at the time."""
        self._queues = queues
        self._timeouts: dict[str, int | None] = {}
        self.overdue: dict[str, None] = {}
        self.timers = Timers()

    def observe(self, uid: str, pod: Pod | None) -> None:
        """Take in a pod as it is now; None: it is gone."""
        at = None if pod is None else overdue_at(pod, self._queues.get(pod.cluster_queue or ""))
        if at is not None and at <= self.timers.now:
            self.overdue[uid] = None
            at = None
        else:
            self.overdue.pop(uid, None)
        self.timers.set(uid, at)

    def moved(self, charged: Mapping[str, Iterable[str]]) -> list[str]:
        """Return, of the pods that each cluster queue is charged with, those whose queue has another timeout by now."""
        former, self._timeouts = self._timeouts, {name: q.reservation_timeout for name, q in self._queues.items()}
        others = (name for name in charged if former.get(name) != self._timeouts.get(name))
        return [uid for name in others for uid in charged[name]]
