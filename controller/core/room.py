"""What nodes have free, sorted, so that a node for a pod is found without looking at all of them.

`Room` is what is free now; the cache keeps it up as pods come and go. `RoomLeft` is what one decision leaves of it.
"""

from __future__ import annotations

import sys
from bisect import bisect_left, insort
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from itertools import islice

from controller.core.amounts import Requests
from controller.core.nodes import NodeIndex

Amounts = Mapping[str, int]

_EMPTIEST = 16
"""How many of the emptiest nodes are looked at for one that may be used."""

_Shelf = list[tuple[int, str]]
"""Usable nodes of a flavor that have a resource, by how much of it is free: (amount, node), ascending."""


class Room:
    """What every node has free. Changes with pods; made anew when nodes or flavors change."""

    def __init__(self, nodes: NodeIndex, used: Mapping[str, Amounts]) -> None:
        self.nodes = nodes
        self._free = {name: _left(node.allocatable, used.get(name, {})) for name, node in nodes.nodes.items()}
        self._shelves: dict[str, dict[str, _Shelf]] = {}

    def free(self, node: str) -> Amounts:
        """Amounts that are free on a node; below zero where more is taken than there is."""
        return self._free[node]

    def update(self, node: str, used: Amounts) -> None:
        """Take in what the pods on a node take now; a node that is not known yet, or no more, has no room."""
        known = self.nodes.nodes.get(node)
        if known is None:
            return
        former, now = self._free[node], _left(known.allocatable, used)
        self._free[node] = now
        if known.is_usable:
            for resource, shelf in self._shelves.get(self.nodes.flavor_of.get(node, ""), {}).items():
                _move(shelf, node, former.get(resource), now.get(resource))

    def shelf(self, flavor: str, resource: str) -> _Shelf:
        """Return the flavor's usable nodes by what they have free of the resource; not to be changed."""
        shelves = self._shelves.setdefault(flavor, {})
        if resource not in shelves:
            members = self.nodes.usable(flavor)
            shelves[resource] = sorted((self._free[n][resource], n) for n in members if resource in self._free[n])
        return shelves[resource]


class Search:
    """For one make of pod on one flavor: where it may run, and where enough is left of each resource it asks for.

    Kept through a decision: what it needs is looked up once, not for every pod, and since room only shrinks, a node
    that once was too full is not looked at again.
    """

    __slots__ = ("allowed", "asked", "full", "requests", "spreads")

    def __init__(
        self, requests: Requests, allowed: AbstractSet[str], shelves: Iterable[_Shelf], *, spreads: bool
    ) -> None:
        """`shelves` are those of the requests' resources; `allowed` are usable nodes of their flavor.

        `spreads`: each pod gets the node with most left, not the fullest.
        """
        self.spreads = spreads
        self.requests = requests
        self.allowed = allowed
        self.full: set[str] = set()
        self.asked = [(shelf, resource, (need,)) for (resource, need), shelf in zip(requests, shelves, strict=True)]


class RoomLeft:
    """What a decision leaves of the room. `looked_at` counts the nodes whose free amounts were compared with a need."""

    def __init__(self, room: Room) -> None:
        """`room` stays as it is, and must not change meanwhile."""
        self._room = room
        self._free: dict[str, dict[str, int]] = {}
        self._shelves: dict[str, dict[str, _Shelf]] = {}
        self._moving: dict[str, Amounts] = {}
        self.looked_at = 0

    def fork(self) -> RoomLeft:
        """Return one that goes on from here by itself."""
        other = RoomLeft(self._room)
        other._free = {node: dict(free) for node, free in self._free.items()}
        return other

    def free(self, node: str) -> Amounts:
        """Amounts that are left on a node."""
        return self._free.get(node) or self._room.free(node)

    def take(self, node: str, requests: Requests) -> None:
        """Take one of these from a node; of what the node no longer has there is nothing to take, nor to give back."""
        free = self._free.get(node)
        if free is None:
            before = self._room.free(node)
            free = self._free[node] = dict(before)
            self._moving[node] = before
        elif node not in self._moving:
            self._moving[node] = dict(free)
        for resource, need in requests:
            if resource in free:
                free[resource] -= need

    def search(self, flavor: str, requests: Requests, allowed: AbstractSet[str], *, spreads: bool = False) -> Search:
        """Prepare to find nodes of a flavor for these requests among `allowed`, usable nodes of the flavor."""
        shelves = [self._shelf(flavor, resource) for resource, _ in requests]
        return Search(requests, allowed, shelves, spreads=spreads)

    def find(self, search: Search) -> str | None:
        """Return the fullest of the allowed nodes with room; None without one."""
        return next(iter(self.pack(search, 1)), None)

    def pack(self, search: Search, count: int) -> list[str]:
        """Return a node for each of `count` pods, fullest first, as many on each as it has room for; fewer at the end.

        Fullest: with the least left of the resource of which the fewest nodes have enough, so that large holes are
        kept for large pods. Best fit: what several leave is left where most is left.
        """
        if search.spreads:
            return self._spread(search, count)
        nodes: list[str] = []
        allowed, full = search.allowed, search.full
        for _, node in self._in_order(search):
            if node not in allowed or node in full:
                continue
            room = self.count(node, search.requests)
            if not room:
                full.add(node)
                continue
            nodes += [node] * min(count - len(nodes), room)
            if len(nodes) == count:
                break
        return nodes

    def _spread(self, search: Search, count: int) -> list[str]:
        """Return a node for each of `count` pods, each that of which most is left then; fewer where room ends."""
        scarce = self._scarcest(search)[2]
        need = dict(search.requests).get(scarce, 0)
        ahead = [one for one in self._in_order(search) if one[1] in search.allowed and one[1] not in search.full]
        nodes: list[str] = []
        taken: dict[str, int] = {}
        while ahead and len(nodes) < count:
            amount, node = ahead.pop()
            if self.count(node, search.requests) <= taken.get(node, 0):
                if node not in taken:
                    search.full.add(node)
                continue
            nodes.append(node)
            taken[node] = taken.get(node, 0) + 1
            insort(ahead, (amount - need, node))
        return nodes

    def fits(self, node: str, requests: Requests) -> bool:
        """Say whether a node has room for one of these."""
        return self.count(node, requests) > 0 if requests else True

    def count(self, node: str, requests: Requests) -> int:
        """Say how many of these a node has room for."""
        self.looked_at += 1
        free = self._free.get(node) or self._room.free(node)
        room = sys.maxsize
        # a loop: much of a decision's time goes to this, and a generator takes twice as long
        for resource, need in requests:
            count = free.get(resource, 0) // need
            if count < room:
                if count <= 0:
                    return 0
                room = count
        return room

    def _in_order(self, search: Search) -> _Shelf:
        """Nodes with enough of the scarcest resource, fullest first; where many are allowed, others among them."""
        self._put_in_place()
        start, shelf, scarce, need = self._scarcest(search)
        count = len(shelf) - start
        allowed = search.allowed
        # a walk passes count / allowed nodes before the first allowed one: with very few, looking at all is less
        if len(allowed) ** 2 <= count:
            amounts = ((self.free(node).get(scarce, -1), node) for node in allowed - search.full)
            return sorted(one for one in amounts if one[0] >= need)
        return shelf[start:]

    def _scarcest(self, search: Search) -> tuple[int, _Shelf, str, int]:
        """Of the resource of which fewest nodes have enough: where those begin, on which shelf, its name, the need."""
        fewest: tuple[int, int, _Shelf, str, int] = (0, 0, [], "", 0)
        for index, (shelf, resource, need) in enumerate(search.asked):
            start = bisect_left(shelf, need)
            if index == 0 or len(shelf) - start < fewest[0]:
                fewest = (len(shelf) - start, start, shelf, resource, need[0])
        return fewest[1:]

    def most(self, flavor: str, resource: str, allowed: AbstractSet[str]) -> int:
        """Say how much of a resource the one of these usable nodes of a flavor has that has the most left."""
        self._put_in_place()
        shelf = self._shelf(flavor, resource)
        if len(allowed) ** 2 <= len(shelf):
            return max((self.free(node).get(resource, 0) for node in allowed), default=0)
        return next((amount for amount, node in reversed(shelf) if node in allowed), 0)

    def emptiest(self, flavor: str, requests: Requests, allowed: AbstractSet[str]) -> str | None:
        """Return one of the emptiest of these usable nodes with room for one of these; or None."""
        self._put_in_place()
        last = islice(reversed(self._shelf(flavor, requests[0][0])), _EMPTIEST) if requests else ()
        return next((node for _, node in last if node in allowed and self.fits(node, requests)), None)

    def _put_in_place(self) -> None:
        """Move the nodes that something was taken from since, once for all that was taken."""
        for node, former in self._moving.items():
            now = self._free[node]
            for resource, shelf in self._shelves.get(self._shelved_in(node), {}).items():
                _move(shelf, node, former.get(resource), now.get(resource))
        self._moving.clear()

    def _shelved_in(self, node: str) -> str:
        """Return the flavor on whose shelves a node stands; one that is not usable is on none, though pods leave it."""
        index = self._room.nodes
        return index.flavor_of.get(node, "") if index.nodes[node].is_usable else ""

    def _shelf(self, flavor: str, resource: str) -> _Shelf:
        shelves = self._shelves.setdefault(flavor, {})
        if resource not in shelves:
            self._put_in_place()
            shelf = shelves[resource] = self._room.shelf(flavor, resource).copy()
            for node, now in self._free.items():
                if self._shelved_in(node) == flavor:
                    _move(shelf, node, self._room.free(node).get(resource), now.get(resource))
        return shelves[resource]


def _left(allocatable: Amounts, used: Amounts) -> Amounts:
    return {resource: amount - used.get(resource, 0) for resource, amount in allocatable.items()}


def _move(shelf: _Shelf, node: str, former: int | None, now: int | None) -> None:
    """Put a node in its new place; one that does not have the resource is not there."""
    if former is None or now is None or former == now:
        return
    del shelf[bisect_left(shelf, (former, node))]
    insort(shelf, (now, node))
