"""What is left to give while one decision is being made. Starts from a snapshot and only shrinks.

Because it only shrinks, a flavor that once had no room for a shape is never asked again for that shape.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from contextlib import contextmanager

from controller.core.amounts import PODS, Requests
from controller.core.decisions import Blocker
from controller.core.queues import ClusterQueue, Flavor, FlavorQuota
from controller.core.reasons import Reason
from controller.core.room import Room, RoomLeft, Search
from controller.core.shapes import Shape
from controller.core.snapshot import Snapshot
from controller.core.tree_usage import TreeUsage

_FREED_COMPARED = 16
_MORE_THAN_ALL = "more than the whole quota"


class Ledger:
    """Quota and room that remain; `spend` takes from both."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self.usage = TreeUsage(snapshot.tree, snapshot.usage)
        self._spent_of_flavor: dict[tuple[str, str], int] = {}
        self._room = RoomLeft(snapshot.room or Room(snapshot.nodes, snapshot.node_used))
        self._searches: dict[tuple[str, Shape, bool], Search | None] = {}
        """By flavor, shape and whether only freed nodes count; None where there is no room any more."""
        self._is_trying = False
        self._freed_room: dict[Requests, bool] = {}

    def fork(self) -> Ledger:
        """Return one that goes on from here by itself, for a look at what may come."""
        other = Ledger(self._snapshot)
        other.usage = self.usage.fork()
        other._spent_of_flavor = dict(self._spent_of_flavor)
        other._room = self._room.fork()
        return other

    @property
    def is_trying(self) -> bool:
        """Whether room may also grow now, so that nothing that is found may be remembered."""
        return self._is_trying

    @contextmanager
    def trying(self) -> Iterator[None]:
        """While room may also grow, nothing that is found is remembered. What is spent meanwhile must be given back."""
        was_trying, self._is_trying = self._is_trying, True
        try:
            yield
        finally:
            self._is_trying = was_trying

    def quota_blocker(self, queue: ClusterQueue, quota: FlavorQuota, requests: Requests) -> Blocker | None:
        """Return the first resource (by name) whose quota does not allow these too, else None.

        What no waiting would change is told before what is short for now. A resource without a quota is not given at
        all, `pods` apart: pods are only counted where a quota says so.
        """
        counted: list[tuple[str, int]] = []
        for resource, need in requests:
            cell = self._snapshot.tree.cell(queue.name, (quota.flavor, resource)) if resource in quota.nominal else None
            if cell is None:
                if resource == PODS:
                    continue
                return Blocker(quota.flavor, Reason.NEVER_FITS, resource, need, 0, "the queue has no quota for it")
            # where a quota of the tree changes by itself, waiting may well help
            if need > cell.potential and not self._snapshot.tree.is_changing(queue.name, (quota.flavor, resource)):
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
        for name in self._snapshot.tree.path(queue.name):
            limits = self._snapshot.tree.limits(name)
            for resource, need in requests if limits else ():
                most = limits.get(resource)
                if most is None:
                    continue
                if need > most:
                    return Blocker("", Reason.NEVER_FITS, resource, need, most, f"more than the limit of {name}", name)
                free = most - self.usage.used(name, "", resource)
                if need > free and short is None:
                    short = Blocker("", Reason.QUEUE_LIMIT, resource, need, free, at=name)
        return short

    def borrowing_level(self, queue: ClusterQueue, flavor: str, requests: Requests) -> int:
        """Return how far up the tree these would have to borrow: 0, they stay within the queue's own quota."""
        if not queue.parent:
            return 0
        columns = (((flavor, resource), need) for resource, need in requests)
        levels = (
            self.usage.borrowing_level(queue.name, column, need)
            for column, need in columns
            if self._snapshot.tree.cell(queue.name, column) is not None
        )
        # a pod that asks for nothing but its place, where no quota counts pods, borrows nothing
        return max(levels, default=0)

    def sum_blocker(self, flavor: Flavor, requests: Requests) -> Blocker | None:
        """Return the first resource (by name) of which a flavor's sums have too little left, over all queues.

        What no waiting would change is told before what is short for now.
        """
        short: Blocker | None = None
        for resource, need in requests:
            if resource == PODS and resource not in flavor.sums:
                continue
            total = flavor.sums.get(resource, 0)
            if need > total:
                return Blocker(flavor.name, Reason.NEVER_FITS, resource, need, total, "more than the flavor's capacity")
            key = (flavor.name, resource)
            free = total - self._snapshot.flavor_usage.get(key, 0) - self._spent_of_flavor.get(key, 0)
            if need > free and short is None:
                short = Blocker(flavor.name, Reason.NO_CAPACITY, resource, need, free)
        return short

    def find_node(self, flavor: Flavor, shape: Shape, *, only_freed: bool) -> str | None:
        """Return a node of the flavor with room for one more of this shape, fullest first; None when there is none."""
        if self._is_trying:
            return next(iter(self.find_nodes(flavor, shape, 1)), None)
        key = (flavor.name, shape, only_freed)
        if key not in self._searches:
            self._searches[key] = self.search(flavor, shape, only_freed=only_freed)
        search = self._searches[key]
        if search is None:
            return None
        node = self._room.find(search)
        if node is None:
            self._searches[key] = None
        return node

    def most_free(self, flavor: Flavor, shape: Shape, resource: str) -> int:
        """Say how much of a resource is left on the emptiest of the nodes that the shape may use."""
        return self._room.most(flavor.name, resource, self._snapshot.nodes.allowed(flavor, shape.constraints))

    def has_freed_room(self, shape: Shape) -> bool:
        """Say whether a freed node may have room for one pod of this shape; of many nodes it is taken for granted.

        A node that frees little opens nothing for most shapes, and there are far fewer of them than of classes.
        """
        if len(self._snapshot.freed) > _FREED_COMPARED:
            return True
        known = self._freed_room.get(shape.requests)
        if known is None:
            nodes = (node for node in self._snapshot.freed if node in self._snapshot.nodes.nodes)
            known = any(self._room.fits(node, shape.requests) for node in nodes)
            self._freed_room[shape.requests] = known
        return known

    def find_nodes(
        self, flavor: Flavor, shape: Shape, count: int, *, without: AbstractSet[str] = frozenset()
    ) -> list[str]:
        """Return nodes with room for so many of this shape, a node for each, fullest first; fewer when room ends.

        Those in `without` are left out.
        """
        allowed = self._snapshot.nodes.allowed(flavor, shape.constraints)
        allowed = allowed - without if without else allowed
        return self._room.pack(self._room.search(flavor.name, shape.requests, allowed), count)

    def search(self, flavor: Flavor, shape: Shape, *, only_freed: bool) -> Search:
        """Prepare to find nodes for this shape one by one."""
        allowed = self._snapshot.nodes.allowed(flavor, shape.constraints)
        if only_freed:
            allowed &= self._snapshot.freed
        return self._room.search(flavor.name, shape.requests, allowed)

    def find_passing(self, search: Search, may_take: Callable[[str], bool]) -> str | None:
        """Return the fullest node with room that may be taken; one that may not is not asked about again."""
        while (node := self._room.find(search)) is not None and not may_take(node):
            self._room.pass_over(search, node)
        return node

    def among(self, flavor: Flavor, shape: Shape, nodes: AbstractSet[str]) -> list[str]:
        """Return those of some nodes, by name, that are of a flavor and that a shape may use."""
        return sorted(self._snapshot.nodes.allowed(flavor, shape.constraints) & nodes)

    def count_on(self, node: str, requests: Requests) -> int:
        """Say how many of these a node has room for."""
        return self._room.count(node, requests)

    @property
    def nodes_looked_at(self) -> int:
        """How many nodes were compared with a shape: what finding room cost."""
        return self._room.looked_at

    def spend(self, queue: str, flavor: Flavor, requests: Requests, node: str | None) -> None:
        """Take these from the queue's quota and from the room they were promised."""
        if node is not None:
            self._room.take(node, requests)
        for resource, need in requests:
            self.usage.add(queue, flavor.name, resource, need)
            if flavor.is_summed:
                total = (flavor.name, resource)
                self._spent_of_flavor[total] = self._spent_of_flavor.get(total, 0) + need

    def give_back(self, queue: str, flavor: Flavor, requests: Requests, node: str | None) -> None:
        """Undo a `spend` that was only tried; nothing that was found in between may be kept."""
        self.spend(queue, flavor, tuple((resource, -need) for resource, need in requests), node)
