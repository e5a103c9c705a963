"""What is left to give while one decision is being made. Starts from a snapshot and only shrinks.

Because it only shrinks, a flavor that once had no room for a shape is never asked again for that shape.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet

import numpy as np
from numpy.typing import NDArray

from controller.core.capacity.node_search import Search
from controller.core.capacity.room import Room, RoomLeft
from controller.core.kubernetes.amounts import Requests
from controller.core.queueing.queues import ClusterQueue, Flavor, FlavorQuota
from controller.core.quota.tree_usage import TreeUsage
from controller.core.reasons import Reason
from controller.core.snapshot import Snapshot
from controller.core.workloads.decisions import Blocker
from controller.core.workloads.shapes import Constraints, Shape

_MORE_THAN_ALL = "more than the whole quota"


class Ledger:
    """Quota and room that remain; `spend` takes from both."""

    def __init__(self, snapshot: Snapshot, usage: TreeUsage | None = None, room: RoomLeft | None = None) -> None:
        """`usage` and `room`, where that is not all of what the snapshot has."""
        self._snapshot = snapshot
        self._tree, self._nodes = snapshot.queues.tree, snapshot.nodes.index
        self.usage = usage or TreeUsage(snapshot.queues.tree, snapshot.usage.in_tree)
        self._spent_of_flavor: dict[tuple[str, str], int] = {}
        self._room = room or RoomLeft(snapshot.nodes.room or Room(snapshot.nodes.index, snapshot.nodes.used))
        self._searches: dict[tuple[str, Shape], Search | None] = {}
        """By flavor and shape; None where there is no room any more."""
        self._others: dict[tuple[str, frozenset[str]], NDArray[np.bool_]] = {}
        """By flavor and some nodes which of its usable ones are others."""
        self._no_room: dict[tuple[str, Shape], Blocker] = {}
        """By flavor and shape why no node has room; until anything is taken from a node."""
        self._most_free: dict[tuple[str, Constraints, str], int] = {}
        """By flavor, what a pod says of nodes, and resource; until anything is taken from a node or given back."""
        self.is_trying = False
        """Whether room may also grow now, so that nothing that is found may be remembered."""
        self._shadow: Ledger | None = None
        self.is_emptied = False
        """As of `booked.Beside`; here it makes no difference."""
        self.charges = 0
        """How often anything was charged for good."""
        self.occupied_nodes: list[str] = []
        """Nodes that anything was taken from for good, one after the other."""
        self.charged: set[str] = set()
        """Queues that anything was charged to for good."""
        self._charged_in: dict[str, list[str]] = {}
        self._awaited_on_demand: dict[str, int] = {}

    def fork(self) -> Ledger:
        """Return one that goes on from here by itself, for a look at what may come."""
        other = Ledger(self._snapshot, self.usage.fork(), self._room.fork())
        other._spent_of_flavor, other._awaited_on_demand = dict(self._spent_of_flavor), dict(self._awaited_on_demand)
        other.is_trying, other.charges, other.charged = self.is_trying, self.charges, set(self.charged)
        return other

    def shadow(self) -> Ledger:
        """Return the one that goes along with what is taken here, and to which more may be given back than to this.

        What is found in it may not be remembered: its room also grows.
        """
        if self._shadow is None:
            self._shadow = self.fork()
        return self._shadow

    def trying(self) -> Trying:
        """While room may also grow, nothing that is found is remembered. What is spent meanwhile must be given back."""
        return Trying(self)

    def await_on_demand(self, queue: str) -> None:
        """Note that what was spent for a pod of a queue is held for it until others have gone, and not on spot."""
        self._awaited_on_demand[queue] = self.awaited_on_demand(queue) + 1
        if self._shadow is not None:
            self._shadow.await_on_demand(queue)

    def awaited_on_demand(self, queue: str) -> int:
        """Return how many pods of a queue are only waited for so."""
        return self._awaited_on_demand.get(queue, 0)

    def quota_blocker(self, queue: ClusterQueue, quota: FlavorQuota, requests: Requests) -> Blocker | None:
        """Return the first resource (by name) whose quota does not allow these too, else None.

        What no waiting would change is told before what is short for now. A resource without a quota is not given at
        all, `pods` and what quota leaves out apart: these are only counted where a quota says so.
        """
        counted: list[tuple[str, int]] = []
        for resource, need in requests:
            cell = self._tree.cell(queue.name, (quota.flavor, resource)) if resource in quota.nominal else None
            if cell is None:
                if self._tree.resources.needs_no_quota(resource):
                    continue
                return Blocker(quota.flavor, Reason.NEVER_FITS, resource, need, 0, "the queue has no quota for it")
            # where a quota of the tree changes by itself, waiting may well help
            if need > cell.potential and not self._tree.is_changing(queue.name, (quota.flavor, resource)):
                detail = "more than its quota and all that it may borrow" if queue.parent else _MORE_THAN_ALL
                return Blocker(quota.flavor, Reason.NEVER_FITS, resource, need, cell.potential, detail, queue.name)
            counted.append((resource, need))
        for resource, need in counted:
            found = self.usage.available(queue.name, (quota.flavor, resource))
            if need > found.amount:
                reason = Reason.QUOTA_EXCEEDED if found.at == queue.name else Reason.PARENT_QUEUE_LIMIT
                return Blocker(quota.flavor, reason, resource, need, found.amount, at=found.at)
        return None

    def limit_blocker(self, queue: ClusterQueue, requests: Requests) -> Blocker | None:
        """Return the first limit on all flavors, from the queue upwards, that does not allow these too, else None.

        What no waiting would change is told before what is short for now.
        """
        short: Blocker | None = None
        for name in self._tree.path(queue.name):
            limits = self._tree.limits(name)
            for resource, need in requests if limits else ():
                most = limits.get(resource)
                if most is None:
                    continue
                if need > most and not self._tree.is_limit_changing(name, resource):
                    return Blocker("", Reason.NEVER_FITS, resource, need, most, f"more than the limit of {name}", name)
                free = most - self.usage.used(name, "", resource)
                if need > free and short is None:
                    short = Blocker("", Reason.QUEUE_LIMIT, resource, need, free, at=name)
        return short

    def lasts_for(self, queue: ClusterQueue, flavor: Flavor, requests: Requests) -> int:
        """Return how many more of these quota, limits and the sums of a flavor allow, which allowed one just before.

        What is available goes down by just what is charged, wherever on the tree it comes from.
        """
        return min(self.quota_lasts(queue, flavor, requests), self.sum_lasts(flavor, requests))

    def quota_lasts(self, queue: ClusterQueue, flavor: Flavor, requests: Requests) -> int:
        """Return how many more of these the quotas of a flavor allow, and the limits on all flavors."""
        counts: list[int] = []
        for resource, need in requests:
            if self._tree.cell(queue.name, (flavor.name, resource)) is not None:
                counts.append(self.usage.available(queue.name, (flavor.name, resource)).amount // need)
            for name in self._tree.path(queue.name):
                most = self._tree.limits(name).get(resource)
                if most is not None:
                    counts.append((most - self.usage.used(name, "", resource)) // need)
        return max(0, min(counts, default=sys.maxsize))

    def sum_lasts(self, flavor: Flavor, requests: Requests) -> int:
        """Return how many more of these the sums of a flavor allow."""
        counts = (self._sum_left(flavor, resource) // need for resource, need in requests if resource in flavor.sums)
        return max(0, min(counts, default=sys.maxsize))

    def borrowing_level(self, queue: ClusterQueue, flavor: str, requests: Requests) -> int:
        """Return how far up the tree these would have to borrow: 0, they stay within the queue's own quota."""
        return self.usage.highest_level(queue.name, flavor, requests) if queue.parent else 0

    def sum_blocker(self, flavor: Flavor, requests: Requests) -> Blocker | None:
        """Return the first resource (by name) of which a flavor's sums have too little left, over all queues.

        What no waiting would change is told before what is short for now.
        """
        short: Blocker | None = None
        for resource, need in requests:
            if resource not in flavor.sums and self._tree.resources.needs_no_quota(resource):
                continue
            total = flavor.sums.get(resource, 0)
            if need > total:
                return Blocker(flavor.name, Reason.NEVER_FITS, resource, need, total, "more than the flavor's capacity")
            free = self._sum_left(flavor, resource)
            if need > free and short is None:
                short = Blocker(flavor.name, Reason.NO_CAPACITY, resource, need, free)
        return short

    def left(self, place: str, name: str, resource: str) -> int:
        """Return what is left of a resource in a place: on the `node` of this name, or of a flavor's `sum`."""
        if place == "node":
            return self._room.free(name).get(resource, 0)
        flavor = self._snapshot.queues.flavors[name]
        return self._sum_left(flavor, resource) if resource in flavor.sums else sys.maxsize

    def emptiest_node(self, flavor: Flavor, shape: Shape) -> str | None:
        """Return a node of the flavor with room for this shape that is likely to be the last that fills up."""
        return self._room.emptiest(flavor.name, shape.requests, self._nodes.places(flavor, shape.constraints))

    def _sum_left(self, flavor: Flavor, resource: str) -> int:
        key = (flavor.name, resource)
        return flavor.sums[resource] - self._snapshot.usage.by_flavor.get(key, 0) - self._spent_of_flavor.get(key, 0)

    def find_node(self, flavor: Flavor, shape: Shape) -> str | None:
        """Return a node of the flavor with room for one more of this shape, fullest first; None when there is none."""
        return next(iter(self.find_nodes(flavor, shape, 1)), None)

    def find_nodes(self, flavor: Flavor, shape: Shape, count: int) -> list[str]:
        """Return nodes with room for so many of this shape, a node for each, fullest first; fewer when room ends."""
        key = (flavor.name, shape)
        search = None if self.is_trying else self._searches.get(key)
        if search is None and (self.is_trying or key not in self._searches):
            search = self.search(flavor, shape, is_kept=not self.is_trying)
            if not self.is_trying:
                self._searches[key] = search
        nodes = [] if search is None else self._room.pack(search, count)
        if not nodes and not self.is_trying:
            self._searches[key] = None
        return nodes

    def is_known_to_be_full(self, flavor: Flavor, shape: Shape) -> bool:
        """Say whether no node of a flavor had room for this shape when it was asked for and nobody was away."""
        return self._searches.get((flavor.name, shape), self) is None

    def known_no_room(self, flavor: Flavor, shape: Shape) -> Blocker | None:
        """Return why no node of a flavor has room for this shape, where that was told and nothing was taken since."""
        return None if self.is_trying else self._no_room.get((flavor.name, shape))

    def note_no_room(self, shape: Shape, blocker: Blocker) -> Blocker:
        """Remember, and return, why no node has room for this shape."""
        if not self.is_trying:
            self._no_room[blocker.flavor, shape] = blocker
        return blocker

    def search(
        self,
        flavor: Flavor,
        shape: Shape,
        *,
        without: frozenset[str] = frozenset(),
        is_kept: bool = False,
    ) -> Search:
        """Prepare to find nodes of a flavor for this shape while room only shrinks; those `without` are left out.

        `is_kept`: time and again.
        """
        nodes = self._nodes
        at = nodes.places(flavor, shape.constraints)
        if without:
            at = at[self._elsewhere(flavor.name, without)[at]]
        return Search(flavor.name, shape.requests, at, spreads=flavor.spreads, is_kept=is_kept)

    def _elsewhere(self, flavor: str, without: frozenset[str]) -> NDArray[np.bool_]:
        """Return of each usable node of a flavor whether it is none of these; few sets are asked for, many times."""
        known = self._others.get((flavor, without))
        if known is None:
            known = self._others[flavor, without] = np.ones(len(self._nodes.in_order(flavor)), dtype=np.bool_)
            known[self._nodes.places_of(flavor, without)] = False
        return known

    def pack(self, search: Search, count: int) -> list[str]:
        """Return nodes with room for so many that a search is for, a node for each; fewer when room ends."""
        return self._room.pack(search, count)

    def among(self, flavor: Flavor, shape: Shape, nodes: AbstractSet[str]) -> list[str]:
        """Return those of some nodes, by name, that are of a flavor and that a shape may use."""
        return sorted(self._nodes.allowed(flavor, shape.constraints) & nodes)

    def most_free(self, flavor: Flavor, shape: Shape, resource: str) -> int:
        """Say how much of a resource is left on the emptiest of the nodes that the shape may use."""
        key = (flavor.name, shape.constraints, resource)
        known = self._most_free.get(key)
        if known is None:
            places = self._nodes.places(flavor, shape.constraints)
            known = self._most_free[key] = self._room.most(flavor.name, resource, places)
        return known

    def flavor_of(self, node: str) -> str:
        """Return the flavor of a node; empty: it is of none."""
        return self._nodes.flavor_of.get(node, "")

    def fits_on(self, node: str, requests: Requests) -> int:
        """Say how many of these a node has room for now."""
        return self._room.count(node, requests)

    @property
    def nodes_visited(self) -> int:
        """How many nodes were compared with a shape one by one."""
        return self._room.visited

    @property
    def nodes_compared(self) -> int:
        """How many nodes were compared with a shape many at once."""
        return self._room.compared

    def spend(
        self, queue: str, flavor: Flavor, requests: Requests, node: str | None, also: Iterable[Flavor] = ()
    ) -> None:
        """Take these from the queue's quota and from the room they were promised; `also` holds them for as long."""
        self.occupy(node, requests)
        self.charge(queue, flavor, requests)
        for one in also:
            self.charge(queue, one, requests, is_only_held=True)

    def occupy(self, node: str | None, requests: Requests) -> None:
        """Take these from the room of a node, where there is one."""
        if node is not None:
            self._room.take(node, requests)
            self._most_free.clear()
            if self.is_trying:
                return
            self.occupied_nodes.append(node)
            self._no_room.clear()
            if self._shadow is not None:
                self._shadow.occupy(node, requests)

    @property
    def occupied(self) -> int:
        """How often anything was taken from a node for good."""
        return len(self.occupied_nodes)

    def free(self, node: str) -> Mapping[str, int]:
        """Return what is left on a node, by resource."""
        return self._room.free(node)

    def charged_in(self, root: str) -> list[str]:
        """Return the queues of a tree to which anything was charged for good, one after the other; it goes on."""
        return self._charged_in.setdefault(root, [])

    def charge(self, queue: str, flavor: Flavor, requests: Requests, *, is_only_held: bool = False) -> None:
        """Take these from the quota of a queue and the sums of a flavor."""
        for resource, need in requests:
            self.usage.add(queue, flavor.name, resource, need, is_only_held=is_only_held)
        if not self.is_trying:
            self.charges += 1
            self.charged.add(queue)
            self.charged_in(self._tree.path(queue)[-1]).append(queue)
        if flavor.is_summed:
            self._draw(flavor, requests)
        if self._shadow is not None and not self.is_trying:
            self._shadow.charge(queue, flavor, requests, is_only_held=is_only_held)

    def draw(self, flavor: Flavor, requests: Requests) -> None:
        """Take these from the sums of a flavor alone."""
        self._draw(flavor, requests)
        if self._shadow is not None and not self.is_trying:
            self._shadow.draw(flavor, requests)

    def _draw(self, flavor: Flavor, requests: Requests) -> None:
        for resource, need in requests:
            total = (flavor.name, resource)
            self._spent_of_flavor[total] = self._spent_of_flavor.get(total, 0) + need

    def give_back(
        self, queue: str, flavor: Flavor, requests: Requests, node: str | None, also: Iterable[Flavor] = ()
    ) -> None:
        """Undo a `spend` that was only tried; nothing that was found in between may be kept."""
        self.spend(queue, flavor, tuple((resource, -need) for resource, need in requests), node, also)


class Trying:
    """Room of a ledger may also grow meanwhile. A class: it is begun so often that contextlib would take longer."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._was_trying = False

    def __enter__(self) -> None:
        self._was_trying, self._ledger.is_trying = self._ledger.is_trying, True

    def __exit__(self, *raised: object) -> None:
        self._ledger.is_trying = self._was_trying
