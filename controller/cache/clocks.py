"""What the passing of time alone changes about pods: one door for the cache to all that keeps timers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import chain

from controller.cache.fallbacks import Fallbacks
from controller.cache.preemptible import Preemptible
from controller.cache.reservations import Reservations
from controller.cache.stock_outs import StockOuts
from controller.cache.timers import Timers
from controller.core.pods import Pod
from controller.core.queues import ClusterQueue, Flavor


class Clocks:
    """`fallbacks` of queued pods; `reservations` of admitted ones, and whether they are `preemptible`; `stock_outs`.

    `stuck`: when it has taken too long that a pod goes.
    """

    def __init__(
        self,
        fallbacks: Fallbacks,
        places: Timers,
        queues: Mapping[str, ClusterQueue],
        flavors: Mapping[str, Flavor],
    ) -> None:
        """`places`: when queued pods come to another place. Queues and flavors are the cache's own, and only read."""
        self.fallbacks = fallbacks
        self._places = places
        self.stuck = Timers()
        self.reservations = Reservations(queues)
        self.stock_outs = StockOuts(flavors)
        self.preemptible = Preemptible(queues)

    def see(self, uid: str, pod: Pod | None) -> None:
        """Take in a pod as it is now; None: it is gone."""
        self.reservations.see(uid, pod)
        self.stock_outs.see(uid, pod)
        self.preemptible.see(uid, pod)

    def pass_to(self, now: float, pods: Mapping[str, Pod], *, on_flavor: Callable[[], None]) -> list[str]:
        """Let it be this time (epoch seconds); return the pods that it changes, and call where it changes a flavor."""
        if self.stock_outs.pass_to(now, pods):
            on_flavor()
        stuck = list(self.stuck.pass_to(now))
        for uid in stuck:  # those of others are dropped when they are seen, next
            self.preemptible.is_judged_anew(uid)
        return [*stuck, *(uid for one in self._timers() for uid in one.pass_to(now))]

    def next_change(self) -> float:
        """Return when time changes something next."""
        timers = (self.stuck, *self._timers())
        return min(self.stock_outs.next_change(), *(one.next_change() for one in timers))

    def _timers(self) -> tuple[Timers, ...]:
        return self.fallbacks.timers, self._places, self.reservations.timers, self.preemptible.timers

    def moved(self, pods: Mapping[str, Pod], charged: Mapping[str, Iterable[str]]) -> Iterable[str]:
        """Return the pods whose queue or flavor has other times than when this was asked last; `charged` by queue."""
        spared = self.preemptible.moved(charged)
        return chain(self.fallbacks.moved(), self.reservations.moved(charged), self.stock_outs.moved(pods), spared)
