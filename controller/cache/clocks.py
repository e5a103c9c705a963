"""What the passing of time alone changes about pods: one door for the cache to all that keeps timers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain

from controller.cache.fallbacks import Fallbacks
from controller.cache.reservations import Reservations
from controller.cache.stock_outs import StockOuts
from controller.core.pods import Pod
from controller.core.queues import ClusterQueue, Flavor


class Clocks:
    """`fallbacks` of queued pods, `reservations` of admitted ones, `stock_outs` of flavors."""

    def __init__(self, fallbacks: Fallbacks, queues: Mapping[str, ClusterQueue], flavors: Mapping[str, Flavor]) -> None:
        """Queues and flavors are the cache's own, and read as they are at the time."""
        self.fallbacks = fallbacks
        self.reservations = Reservations(queues)
        self.stock_outs = StockOuts(flavors)

    def see(self, uid: str, pod: Pod | None) -> None:
        """Take in a pod as it is now; None: it is gone."""
        self.reservations.see(uid, pod)
        self.stock_outs.see(uid, pod)

    def pass_to(self, now: float, pods: Mapping[str, Pod]) -> tuple[list[str], bool]:
        """Let it be this time (epoch seconds); return the pods that it changes, and whether it changes a flavor."""
        due = (*self.fallbacks.timers.pass_to(now), *self.reservations.timers.pass_to(now))
        return list(due), self.stock_outs.pass_to(now, pods)

    def next_change(self) -> float:
        """Return when time changes something next."""
        parts = (self.fallbacks.timers, self.reservations.timers, self.stock_outs)
        return min(one.next_change() for one in parts)

    def moved(self, pods: Mapping[str, Pod], charged: Mapping[str, Iterable[str]]) -> Iterable[str]:
        """Return the pods whose queue or flavor has other times than when this was asked last; `charged` by queue."""
        return chain(self.fallbacks.moved(), self.reservations.moved(charged), self.stock_outs.moved(pods))
