"""EASY backfill: who comes after a blocked workload passes it only if that does not delay it.

The first blocked workload of each Backfill queue gets a booking at the earliest time at which it fits, by the
expected ends of those that run (`earliest`). Whoever comes later in the order, of whichever queue, may take what it
could have now if it is expected to end by then, or if it is not in the way (`ledgers.booked`): it leaves enough at that
time. Of whom its runtime is not known, it is only believed that it is not in the way.

Nothing of this is kept: each decision plans anew from what is known then, so that a pod that outruns its expectation
moves the booking, and one that ends early moves it forward.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import replace
from itertools import tee
from math import inf

from controller.core.backfill.earliest import Outlook
from controller.core.calendar.durations import format_duration
from controller.core.fitting.placement import Placement, Placements, place, primary
from controller.core.forecasts.expected_ends import Holding, by_end
from controller.core.forecasts.forecast import Forecast
from controller.core.keys import EXPECTED_RUNTIME
from controller.core.ledgers.booked import AnyLedger, Booked, BookedLedger
from controller.core.ledgers.ledger import Ledger
from controller.core.queueing.queues import ClusterQueue, QueueingStrategy
from controller.core.reasons import Reason
from controller.core.snapshot import Snapshot
from controller.core.workloads.decisions import Blocker, Booking, Wait
from controller.core.workloads.workload import Workload, WorkloadClass

MOST_ENDS = 10_000
"""So many expected ends are looked at in one decision, over all its bookings."""
_IN_TIME = frozenset(
    {
        Reason.QUOTA_EXCEEDED,
        Reason.PARENT_QUEUE_LIMIT,
        Reason.QUEUE_LIMIT,
        Reason.NO_CAPACITY,
        Reason.WOULD_DELAY,
    }
)
"""What ends when others do."""
_UNKNOWN = f"its runtime is not known: set {EXPECTED_RUNTIME}"


class Backfill:
    """The bookings of one decision."""

    def __init__(self, snapshot: Snapshot, forecast: Forecast, ledger: Ledger) -> None:
        self._snapshot = snapshot
        self._forecast = forecast
        self._ledger = ledger
        self._booked: list[Booked] = []
        self._views: dict[tuple[Booked, ...], BookedLedger] = {}
        self._delays: dict[tuple[str, str, str], Blocker] = {}
        """By flavor, workload that has a booking, and why somebody may not pass it: there are many of each."""
        self._admitted: list[tuple[ClusterQueue, Workload, Placements]] = []
        self._taken: list[Holding] = []
        """What the first of the admitted hold."""
        self._noted = 0
        """Of so many of them that is known: most bookings are made before most are admitted."""
        self._coming: dict[frozenset[str], Iterator[Holding]] = {}
        """By flavors the ends of those that held any before: each booking goes through them from the first on."""
        self.ends_visited = 0

    @property
    def depth(self) -> int:
        """So many may have a booking at most."""
        return self._forecast.depth

    @property
    def is_full(self) -> bool:
        """Whether nobody else may have a booking in this decision."""
        return len(self._booked) >= self._forecast.depth or self.ends_visited >= MOST_ENDS

    def view(self, queue: ClusterQueue, kind: WorkloadClass) -> AnyLedger:
        """Return what a class that comes now may take: all that is left, or what is left beside bookings."""
        if not self._booked:
            return self._ledger
        end, root = self._end(kind), self._root(queue.name)
        later = (one for one in self._booked if end == inf or end > one.booking.at)
        binding = tuple(one for one in later if one.binds(root, queue.flavors))
        if not binding:
            return self._ledger
        if binding not in self._views:
            self._views[binding] = BookedLedger(self._ledger, binding, self._snapshot.queues.tree)
        return self._views[binding]

    def place(self, queue: ClusterQueue, kind: WorkloadClass) -> Placements | Wait:
        """Find quota and room that delay nobody who comes before."""
        ledger = self.view(queue, kind)
        found = place(self._snapshot, ledger, queue, kind)
        return (
            self._told(kind, found, ledger) if isinstance(found, Wait) and isinstance(ledger, BookedLedger) else found
        )

    def _told(self, kind: WorkloadClass, wait: Wait, ledger: BookedLedger) -> Wait:
        """Name bookings where it is they that leave no room."""
        why = self._why(kind)
        blockers = tuple([self._behind(kind, one, ledger, why) for one in wait.blockers])
        is_same = all(one is other for one, other in zip(blockers, wait.blockers, strict=True))
        return wait if is_same else replace(wait, reason=primary(blockers), blockers=blockers)

    def _why(self, kind: WorkloadClass) -> str:
        """Say why a class may not pass."""
        seconds, outrun = self._forecast.runtime(kind), self._forecast.outrun.get(kind.queue[0])
        if outrun is None:
            return f"it is expected to run {format_duration(seconds)}" if seconds else _UNKNOWN
        told = f"it is expected to run {format_duration(seconds)}" if seconds else "its runtime is not known"
        return (
            f"{told}: {EXPECTED_RUNTIME} does not count in its namespace while pod {outrun} runs longer than it stated"
        )

    def _behind(self, kind: WorkloadClass, one: Blocker, ledger: BookedLedger, why: str) -> Blocker:
        if one.reason is Reason.NO_CAPACITY:
            for made in kind.pod_sets:
                booking = ledger.turned_away.get((one.flavor, made.shape.requests))
                if booking is not None:
                    key = (one.flavor, booking.uid, why)
                    if key not in self._delays:
                        self._delays[key] = Blocker(one.flavor, Reason.WOULD_DELAY, detail=why, booking=booking)
                    return self._delays[key]
        return replace(one, detail=why) if one.booking is not None else one

    def took(self, queue: ClusterQueue, workload: Workload, found: Placements) -> None:
        """Take note of an admission: what it holds comes back some time."""
        self._admitted.append((queue, workload, found))

    def book(self, queue: ClusterQueue, workload: Workload, wait: Wait) -> Wait:
        """Reserve for a blocked workload, if it is the first of a Backfill queue and others that end let it in."""
        booking = self._book(queue, workload, wait) if self.may_book(queue) and ends_in_time(wait) else None
        return wait if booking == wait.booking else replace(wait, booking=booking)

    def may_book(self, queue: ClusterQueue) -> bool:
        """Say whether a queue may have a booking, and has none yet."""
        if queue.strategy is not QueueingStrategy.BACKFILL or self.is_full:
            return False
        return all(one.booking.queue != queue.name for one in self._booked)

    def _book(self, queue: ClusterQueue, workload: Workload, wait: Wait) -> Booking | None:
        most = MOST_ENDS - self.ends_visited
        outlook = Outlook(self._snapshot, self._ledger.fork(), self._ends(queue), self._root(queue.name), most=most)
        outlook.take(held for one in self._booked for held in one.holdings)
        found = outlook.earliest(queue, workload.kind, wait)
        self.ends_visited += outlook.visited
        if found is None:
            return None
        at, placed = found
        runtime = self._forecast.runtime(workload.kind)
        holdings = _holdings(queue, workload, placed, since=at, at=at + runtime if runtime else inf)
        outlook.take(holdings)
        places = frozenset((name, one.node) for one in holdings for name in one.flavors)
        booking = Booking(queue.name, workload.uid, at, places)
        self._booked.append(Booked(booking, self._root(queue.name), outlook.then, holdings, self._is_limited(queue)))
        return booking

    def _ends(self, queue: ClusterQueue) -> Iterator[Holding]:
        """Return, as they end, those whose end may let a workload of this queue in."""
        flavors = frozenset(quota.flavor for quota in queue.flavors)
        booked = (held for one in self._booked for held in one.holdings)
        own = sorted([*self._held(), *booked], key=by_end)
        if not self._is_limited(queue):
            return _in_order(self._ends_of(flavors), [one for one in own if not flavors.isdisjoint(one.flavors)])
        root = self._root(queue.name)
        coming = _in_order(iter(self._forecast.ends), own)
        return filter(lambda one: not flavors.isdisjoint(one.flavors) or self._root(one.queue) == root, coming)

    def _ends_of(self, flavors: frozenset[str]) -> Iterator[Holding]:
        known = self._coming.get(flavors)
        if known is None:
            known = self._coming[flavors] = tee(self._forecast.ends.of(flavors), 1)[0]
        return copy(known)

    def _held(self) -> list[Holding]:
        """Return what those hold that were admitted in this decision."""
        for queue, workload, found in self._admitted[self._noted :]:
            self._taken += _holdings(queue, workload, found, since=self._snapshot.now, at=self._end(workload.kind))
        self._noted = len(self._admitted)
        return self._taken

    def _is_limited(self, queue: ClusterQueue) -> bool:
        tree = self._snapshot.queues.tree
        return any(tree.limits(name) for name in tree.path(queue.name))

    def _end(self, kind: WorkloadClass) -> float:
        """Return when a workload of this class ends that begins now."""
        runtime = self._forecast.runtime(kind)
        return self._snapshot.now + runtime if runtime else inf

    def _root(self, queue: str) -> str:
        return self._snapshot.queues.tree.path(queue)[-1]


def _in_order(coming: Iterator[Holding], own: Sequence[Holding]) -> Iterator[Holding]:
    """Merge two orders; `heapq.merge` is for many, and took longer than all else that is done with an end."""
    at = 0
    for one in coming:
        while at < len(own) and own[at].key < one.key:
            yield own[at]
            at += 1
        yield one
    yield from own[at:]


def _holdings(
    queue: ClusterQueue, workload: Workload, placed: Placements, *, since: float, at: float
) -> tuple[Holding, ...]:
    shapes = workload.kind.shapes(len(placed))
    each = zip(workload.uid_of_each(len(placed)), shapes, placed, strict=True)
    return tuple(Holding(at, since, uid, queue.name, _names(one), shape.requests, one.node) for uid, shape, one in each)


def _names(placed: Placement) -> tuple[str, ...]:
    return (placed.flavor.name, *(one.name for one in placed.also))


def ends_in_time(wait: Wait) -> bool:
    """Say whether others that end may let a workload in which waits for this."""
    reasons = {one.reason for one in wait.blockers}
    return not reasons.isdisjoint(_IN_TIME) and Reason.USER_LIMIT not in reasons
