"""A ledger as those see it who come after reservations and would still run when these begin.

What they take must be there now, and beside what is reserved at the time of each reservation: else they would delay it.
What is reserved when is `backfill.earliest`, whom it binds `backfill.easy`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from controller.core.capacity.node_search import Search
from controller.core.kubernetes.amounts import Requests
from controller.core.ledgers.ledger import Ledger, Trying
from controller.core.queueing.queues import ClusterQueue, Flavor, FlavorQuota
from controller.core.quota.quota_tree import QuotaTree
from controller.core.quota.tree_usage import TreeUsage
from controller.core.reasons import Reason
from controller.core.workloads.decisions import Blocker, Booking
from controller.core.workloads.shapes import Shape
from controller.core.world.expected_ends import Holding


@dataclass(frozen=True, slots=True, eq=False)
class Booked:
    """A reservation: `holdings` are what its workload is to have, `root` is that of its queue's tree.

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

    def beside(self, found: Blocker | None) -> Blocker | None:
        """Return what is short then as a reason to wait now."""
        return None if found is None else replace(found, reason=Reason.WOULD_DELAY, booking=self.booking)


class Beside:
    """What one may take who comes after some reservations; has those of Ledger's methods that placing needs."""

    def __init__(self, ledger: Ledger, booked: Sequence[Booked], tree: QuotaTree) -> None:
        self._ledger = ledger
        self._booked = booked
        self._tree = tree
        self._of_node: dict[str, list[Booked]] = {}
        for one in booked:
            for node in one.nodes:
                self._of_node.setdefault(node, []).append(one)
        self._nodes = frozenset(self._of_node)
        self._searches: dict[tuple[str, Shape, bool], Search] = {}
        self.turned_away: dict[tuple[str, Requests], Booking] = {}
        """By flavor and what a pod asks for: for whose sake there was less room than there is now."""

    @property
    def booked(self) -> frozenset[str]:
        """The workloads that have these reservations."""
        return frozenset(one.booking.uid for one in self._booked)

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

    def find_node(self, flavor: Flavor, shape: Shape, *, only_freed: bool) -> str | None:
        """As of the ledger, but of nodes that are reserved only what is left beside that."""
        return next(iter(self.find_nodes(flavor, shape, 1, only_freed=only_freed)), None)

    def find_nodes(self, flavor: Flavor, shape: Shape, count: int, *, only_freed: bool = False) -> list[str]:
        """As of the ledger; nodes of which something is reserved come last, with what is left beside that."""
        key = (flavor.name, shape, only_freed)
        is_kept = not self._ledger.is_trying
        search = self._searches.get(key) if is_kept else None
        if search is None:
            search = self._ledger.search(flavor, shape, only_freed=only_freed, without=self._nodes, is_kept=is_kept)
        if is_kept:
            self._searches[key] = search
        nodes = self._ledger.pack(search, count)
        for node in self._ledger.among(flavor, shape, self._nodes, only_freed=only_freed):
            if len(nodes) == count:
                break
            nodes += [node] * min(count - len(nodes), self.fits_on(node, shape.requests))
        return nodes

    def fits_on(self, node: str, requests: Requests) -> int:
        """As of the ledger, now and then at each time."""
        room = self._ledger.fits_on(node, requests)
        for one in self._of_node.get(node, ()) if room else ():
            spare = one.then.fits_on(node, requests)
            if spare < room:
                room = spare
                self.turned_away[self._ledger.flavor_of(node), requests] = one.booking
        return room

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
        found = one.beside(ask(one.then))
        if found is not None:
            return found
    return None


AnyLedger = Ledger | Beside
