"""Cluster queues as they are now, beside how they are written: worked out anew only after something changed.

An event only marks; the next reader works out, so that a relist of nodes costs one pass. Queues without shares and
windows cost nothing. The rules are `core.queueing.effective`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from controller.core.calendar.windows import FOR_EVER, Outlook, outlook
from controller.core.queueing.effective import (
    FIXED,
    Capacity,
    Variation,
    WrittenQueue,
    flavors_below,
    in_effect,
    stopped_by,
)
from controller.core.queueing.queues import ClusterQueue

CapacityAt = Callable[[str, int], Capacity]
"""What a flavor has at an instant."""


_NOT_YET = Outlook(until=0)


@dataclass(slots=True)
class _Varying:
    """A queue that changes by itself. `outlook` holds from `since` until it says.

    `below` are the flavors that it and those below it list, where its limits are shares of what these have.
    `rests_on`: open windows and capacities that the queue in effect was worked out from; None: not yet.
    """

    written: ClusterQueue
    variation: Variation
    flavors: tuple[str, ...]
    below: tuple[str, ...] = ()
    outlook: Outlook = _NOT_YET
    since: int = 0
    rests_on: tuple[object, ...] | None = None


class QueuesInEffect:
    """All cluster queues. `current` is right while `is_stale` does not say otherwise."""

    def __init__(self) -> None:
        self.current: dict[str, ClusterQueue] = {}
        self.is_stale = False
        self.next_change = FOR_EVER
        """When a window or the grace of a node ends next, seconds since 1970."""
        self._varying: dict[str, _Varying] = {}
        self._limited: set[str] = set()
        """Queues with limits that are shares: any queue that comes or goes may be below them."""
        self._now = 0

    def put(self, name: str, queue: ClusterQueue | None, variation: Variation = FIXED) -> bool:
        """Take in a queue as it is written, or forget it; say whether it lists several flavors in another order."""
        before, now = [_order(one) if one is not None else () for one in (self.current.get(name), queue)]
        former = self._varying.pop(name, None)
        self.is_stale = self.is_stale or former is not None or variation != FIXED or bool(self._limited)
        self._limited.discard(name)
        if queue is None:
            self.current.pop(name, None)
            return len(before) > 1
        self.current[name] = queue
        if variation != FIXED:
            flavors = tuple(sorted(variation.shared_flavors()))
            self._varying[name] = _Varying(queue, variation, flavors)
            if variation.limits_by_share:
                self._limited.add(name)
        return before != now and max(len(before), len(now)) > 1

    def written(self) -> dict[str, WrittenQueue]:
        """Return all queues as they are written, by name."""
        varying = {name: WrittenQueue(one.written, one.variation) for name, one in self._varying.items()}
        return {name: varying.get(name) or WrittenQueue(queue) for name, queue in self.current.items()}

    @property
    def orders(self) -> list[tuple[str, ...]]:
        """The orders in which queues list flavors, of those that list several."""
        return [order for order in map(_order, self.current.values()) if len(order) > 1]

    def capacities_moved(self) -> None:
        """Note that a node or flavor changed."""
        self.is_stale = self.is_stale or bool(self._varying)

    def advance(self, now: int) -> None:
        """Let it be this time, which may be earlier than before where a clock was set back."""
        self.is_stale = self.is_stale or now >= self.next_change or (now < self._now and bool(self._varying))
        self._now = now

    def work_out(self, capacity_at: CapacityAt) -> list[str]:
        """Bring `current` up to date; return the queues that have become others."""
        self.is_stale = False
        if self._limited:
            listed = flavors_below(self.current)
            for name in self._limited:
                self._varying[name].below = tuple(sorted(listed[name]))
        flavors = {name for one in self._varying.values() for name in (*one.flavors, *one.below)}
        capacities = {name: capacity_at(name, self._now) for name in sorted(flavors)}
        self.next_change = min((capacity.until for capacity in capacities.values()), default=FOR_EVER)
        return [name for name, one in self._varying.items() if self._work_out(name, one, capacities)]

    def _work_out(self, name: str, one: _Varying, capacities: Mapping[str, Capacity]) -> bool:
        if not one.since <= self._now < one.outlook.until:
            one.outlook, one.since = outlook(one.variation.windows, self._now), self._now
        self.next_change = min(self.next_change, one.outlook.until)
        capacity_of = {flavor: capacities[flavor].amounts for flavor in (*one.flavors, *one.below)}
        rests_on = (one.outlook.open, one.below, capacity_of)
        if rests_on == one.rests_on:
            return False
        one.rests_on = rests_on
        former = self.current[name]
        self.current[name] = in_effect(
            one.written, one.variation, opened=one.outlook.open, capacities=capacities, below=one.below
        )
        return self.current[name] != former

    def outlook_of(self, name: str) -> Outlook | None:
        """Return what is open and what comes next; None for a queue without a schedule."""
        one = self._varying.get(name)
        return one.outlook if one is not None and one.variation.overrides else None

    def stopped_by(self, name: str) -> str:
        """Return the open window that says whether the queue admits; empty: its own stopPolicy does."""
        one = self._varying.get(name)
        return "" if one is None else stopped_by(one.variation, one.outlook.open)


def _order(queue: ClusterQueue) -> tuple[str, ...]:
    return tuple(one.flavor for one in queue.flavors)
