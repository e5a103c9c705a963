"""What the passing of time alone changes about pods: one door for the cache to all that keeps timers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain

from controller.cache.timers.fallbacks import Fallbacks
from controller.cache.timers.lost_pods import LostPods
from controller.cache.timers.preemptible import Preemptible
from controller.cache.timers.reservations import Reservations
from controller.cache.timers.stock_outs import StockOuts
from controller.cache.timers.timers import Timers
from controller.core.kubernetes.nodes import Node
from controller.core.queueing.queues import ClusterQueue, Flavor
from controller.core.workloads.pods import Pod


class Clocks:
    """`fallbacks` of queued pods; `reservations` of admitted ones, and whether they are `preemptible`; `stock_outs`.

    `evictions`: when it has taken too long that a pod goes, or it is forgotten that its eviction was refused; `lost`:
    which of those that go nobody will see go.
    """

    def __init__(
        self,
        fallbacks: Fallbacks,
        positions: Timers,
        queues: Mapping[str, ClusterQueue],
        flavors: Mapping[str, Flavor],
        nodes: Mapping[str, Node],
    ) -> None:
        """`positions`: when queued pods come to another place. All that follow are the cache's own, and only read."""
        self.fallbacks = fallbacks
        self._positions = positions
        self.evictions = Timers()
        self.reservations = Reservations(queues)
        self.stock_outs = StockOuts(flavors)
        self.preemptible = Preemptible(queues)
        self.lost = LostPods(nodes)

    def observe(self, uid: str, pod: Pod | None) -> None:
        """Take in a pod as it is now; None: it is gone."""
        self.reservations.observe(uid, pod)
        self.stock_outs.observe(uid, pod)
        is_lost = self.lost.observe(uid, pod)
        # what is charged with nothing is nobody to preempt, and keeps no others of its gang from it
        self.preemptible.observe(uid, None if is_lost else pod)

    def advance(self, now: float, pods: Mapping[str, Pod], *, on_flavor: Callable[[], None]) -> Iterator[str]:
        """Let it be this time (epoch seconds); yield the pods that it changes, and call where it changes a flavor."""
        if self.stock_outs.advance(now, pods):
            on_flavor()
        judged_anew = map(self._judge_anew, self.evictions.advance(now))
        return chain(judged_anew, *(one.advance(now) for one in self._timers()))

    def _judge_anew(self, uid: str) -> str:
        self.preemptible.is_judged_anew(uid)  # those of others are dropped when they are seen, next
        return uid

    def next_change(self) -> float:
        """Return when time changes something next."""
        timers = (self.evictions, *self._timers())
        return min(self.stock_outs.next_change(), *(one.next_change() for one in timers))

    def _timers(self) -> tuple[Timers, ...]:
        waiting = self.fallbacks.timers, self._positions
        return *waiting, self.reservations.timers, self.preemptible.timers, self.lost.timers

    def moved(self, pods: Mapping[str, Pod], charged: Mapping[str, Iterable[str]]) -> Iterable[str]:
        """Return the pods whose queue or flavor has other times than when this was asked last; `charged` by queue.

        And those whose node tells, or no longer tells, what becomes of them.
        """
        spared = self.preemptible.moved(charged)
        of_flavors = self.stock_outs.moved(pods)
        return chain(self.fallbacks.moved(), self.reservations.moved(charged), of_flavors, spared, self.lost.moved())
