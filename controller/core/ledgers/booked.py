"""A ledger for workloads that come after bookings and would still run when these begin.

What they take must be there now, and beside what is reserved at the time of each reservation: else they would delay it.
What is reserved when is `backfill.earliest`, whom it binds `backfill.easy`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from controller.core.capacity.node_search import Search
from controller.core.forecasts.expected_ends import Holding
from controller.core.kubernetes.amounts import Requests
from controller.core.ledgers.ledger import Ledger, Trying
from controller.core.queueing.queues import ClusterQueue, Flavor, FlavorQuota
from controller.core.quota.quota_tree import QuotaTree
from controller.core.quota.tree_usage import TreeUsage
from controller.core.reasons import Reason
from controller.core.workloads.decisions import Blocker, Booking
from controller.core.workloads.shapes import Constraints, Shape


@dataclass(frozen=True, slots=True, eq=False)
class Booked:
    """A booking: `holdings` are what its workload is to have, `root` is that of its queue's tree.

    `then` is what is left beside it at its time, when whoever ends by then is gone: right for its flavors alone, and
    for limits over all flavors where it `is_limited` by one.
    """

    booking: Booking
    root: str
    then: Ledger
    holdings: tuple[Holding, ...]
    is_limited: bool
    flavors: frozenset[str] = field(init=False)
    nodes: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "flavors", frozenset(name for one in self.holdings for name in one.flavors))
        object.__setattr__(self, "nodes", frozenset(one.node for one in self.holdings if one.node is not None))

    def binds(self, root: str, flavors: Sequence[FlavorQuota]) -> bool:
        """Say whether a queue of this tree with these flavors may come into its way."""
        return root == self.root or any(quota.flavor in self.flavors for quota in flavors)

    def as_blocker(self, found: Blocker | None) -> Blocker | None:
        """Return what is short then as a reason to wait now."""
        return None if found is None else replace(found, reason=Reason.WOULD_DELAY, booking=self.booking)


class BookedLedger:
    """A ledger less what some bookings need at their times; it has those of Ledger's methods that placing needs."""

    def __init__(self, ledger: Ledger, booked: Sequence[Booked], tree: QuotaTree) -> None:
        self._ledger = ledger
        self._booked = booked
        self._tree = tree
        self._of_node: dict[str, list[Booked]] = {}
        for one in booked:
            for node in one.nodes:
                self._of_node.setdefault(node, []).append(one)
        self._nodes = frozenset(self._of_node)
        self.turned_away: dict[tuple[str, Requests], Booking] = {}
        """By flavor and what a pod asks for: for whose sake there was less room than there is now."""
        self.is_emptied = False
        """Whether others count as gone now, so that nobody is turned away from what is there."""
        self._among: dict[tuple[str, Constraints], list[str]] = {}
        """By flavor and what a pod says of nodes: those of these nodes."""
        self._searches: dict[tuple[str, Shape], Search] = {}
        self._no_room: dict[tuple[str, Shape], tuple[int, Blocker]] = {}
        """As of the ledger, with how often anything had been taken by then."""

    @property
    def usage(self) -> TreeUsage:
        """What is used now."""
        return self._ledger.usage

    def trying(self) -> Trying:
        """As of the ledger; times to come only shrink, so there is nothing to undo about them."""
        return self._ledger.trying()

    def awaited_on_demand(self, queue: str) -> int:
        """As of the ledger, now."""
        return self._ledger.awaited_on_demand(queue)

    def limit_blocker(self, queue: ClusterQueue, requests: Requests) -> Blocker | None:
        """As of the ledger, now and then at each time."""
        limited = [one for one in self._of_tree(queue) if one.is_limited]
        now = self._ledger.limit_blocker(queue, requests)
        return now or _first_of(limited, lambda then: then.limit_blocker(queue, requests))

    def quota_blocker(self, queue: ClusterQueue, quota: FlavorQuota, requests: Requests) -> Blocker | None:
        """As of the ledger, now and then at each time."""
        touched = [one for one in self._of_tree(queue) if quota.flavor in one.flavors]
        now = self._ledger.quota_blocker(queue, quota, requests)
        return now or _first_of(touched, lambda then: then.quota_blocker(queue, quota, requests))

    def sum_blocker(self, flavor: Flavor, requests: Requests) -> Blocker | None:
        """As of the ledger, now and then at each time."""
        touched = [one for one in self._booked if flavor.name in one.flavors]
        now = self._ledger.sum_blocker(flavor, requests)
        return now or _first_of(touched, lambda then: then.sum_blocker(flavor, requests))

    def find_node(self, flavor: Flavor, shape: Shape) -> str | None:
        """As of the ledger, but of nodes that are reserved only what is left beside that."""
        return next(iter(self.find_nodes(flavor, shape, 1)), None)

    def find_nodes(self, flavor: Flavor, shape: Shape, count: int) -> list[str]:
        """As of the ledger; nodes of which something is reserved come last, with what is left beside that."""
        key = (flavor.name, shape)
        is_kept = not self._ledger.is_trying
        search = self._searches.get(key) if is_kept else None
        if search is None:
            search = self._ledger.search(flavor, shape, without=self._nodes, is_kept=is_kept)
        if is_kept:
            self._searches[key] = search
        nodes = self._ledger.pack(search, count)
        if len(nodes) == count:
            return nodes
        for node in self._may_use(flavor, shape):
            if len(nodes) == count:
                break
            nodes += [node] * min(count - len(nodes), self.fits_on(node, shape.requests))
        return nodes

    def known_no_room(self, flavor: Flavor, shape: Shape) -> Blocker | None:
        """As of the ledger: nothing is taken at these times that is not taken now."""
        known = None if self._ledger.is_trying else self._no_room.get((flavor.name, shape))
        return known[1] if known is not None and known[0] == self._ledger.occupied else None

    def note_no_room(self, shape: Shape, blocker: Blocker) -> Blocker:
        """As of the ledger."""
        if not self._ledger.is_trying:
            self._no_room[blocker.flavor, shape] = self._ledger.occupied, blocker
        return blocker

    def fits_on(self, node: str, requests: Requests) -> int:
        """As of the ledger, now and then at each time."""
        room = self._ledger.fits_on(node, requests)
        for one in self._of_node.get(node, ()) if room else ():
            spare = one.then.fits_on(node, requests)
            if spare < room:
                room = spare
                if not self.is_emptied:
                    self.turned_away[self._ledger.flavor_of(node), requests] = one.booking
        return room

    def _may_use(self, flavor: Flavor, shape: Shape) -> list[str]:
        """Return those nodes of a flavor of which something is reserved, and that a shape may use."""
        where = (flavor.name, shape.constraints)
        known = self._among.get(where)
        if known is None:
            known = self._among[where] = self._ledger.among(flavor, shape, self._nodes)
        return known

    def most_free(self, flavor: Flavor, shape: Shape, resource: str) -> int:
        """As of the ledger: what is there now."""
        return self._ledger.most_free(flavor, shape, resource)

    def lasts_for(self, queue: ClusterQueue, flavor: Flavor, requests: Requests) -> int:
        """As of the ledger, now and then at each time."""
        touched = [one for one in self._booked if flavor.name in one.flavors]
        tree = [one for one in self._of_tree(queue) if one.is_limited or flavor.name in one.flavors]
        then = (one.then.quota_lasts(queue, flavor, requests) for one in tree)
        sums = (one.then.sum_lasts(flavor, requests) for one in touched)
        return min((self._ledger.lasts_for(queue, flavor, requests), *then, *sums))

    def borrowing_level(self, queue: ClusterQueue, flavor: str, requests: Requests) -> int:
        """As of the ledger: what would be borrowed now."""
        return self._ledger.borrowing_level(queue, flavor, requests)

    def spend(
        self, queue: str, flavor: Flavor, requests: Requests, node: str | None, also: Sequence[Flavor] = ()
    ) -> None:
        """Take these now, and at each time: it is not over by then."""
        for ledger in (self._ledger, *(one.then for one in self._booked)):
            ledger.spend(queue, flavor, requests, node, also)

    def occupy(self, node: str | None, requests: Requests) -> None:
        """Take these from the room of a node, now and at each time."""
        for ledger in (self._ledger, *(one.then for one in self._booked)):
            ledger.occupy(node, requests)

    def charge(self, queue: str, flavor: Flavor, requests: Requests) -> None:
        """Take these from the quota of a queue and the sums of a flavor, now and at each time."""
        for ledger in (self._ledger, *(one.then for one in self._booked)):
            ledger.charge(queue, flavor, requests)

    def give_back(
        self, queue: str, flavor: Flavor, requests: Requests, node: str | None, also: Sequence[Flavor] = ()
    ) -> None:
        """Undo a `spend` that was only tried."""
        for ledger in (self._ledger, *(one.then for one in self._booked)):
            ledger.give_back(queue, flavor, requests, node, also)

    def _of_tree(self, queue: ClusterQueue) -> list[Booked]:
        root = self._tree.path(queue.name)[-1]
        return [one for one in self._booked if one.root == root]


def _first_of(booked: Sequence[Booked], ask: Callable[[Ledger], Blocker | None]) -> Blocker | None:
    """Return the first that is in the way of what was asked for at the time of one of these, naming it."""
    for one in booked:
        found = one.as_blocker(ask(one.then))
        if found is not None:
            return found
    return None


AnyLedger = Ledger | BookedLedger
