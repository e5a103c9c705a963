"""What nodes have free, in arrays, so that a node for a pod is found without asking one after the other.

`Room` is what is free now; the cache keeps it up as pods come and go. `RoomLeft` is what one decision leaves of it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np

from controller.core.capacity.node_index import NodeIndex, NodeNumbers
from controller.core.capacity.node_search import FULLEST, Fullest, Row, Search
from controller.core.kubernetes.amounts import Requests

Amounts = Mapping[str, int]

_MOST: Final = 2**62
"""Whatever is more is written in a row as this, so that nothing overflows: four exbibytes are room for everybody."""
_LEAST: Final = -_MOST
_NONE: Final = _LEAST - 1
"""Of a node that does not have the resource."""
_MANY: Final = 4 * FULLEST
"""Where no more nodes than this may do, all of them are compared each time: it is as quick."""
_FEW: Final = 8
"""So many nodes are found one by one before all that may do are sorted."""


class Room:
    """What every node has free. Changes with pods; made anew when nodes or flavors change."""

    def __init__(self, nodes: NodeIndex, used: Mapping[str, Amounts]) -> None:
        self.nodes = nodes
        self._free = {name: _left(node.allocatable, used.get(name, {})) for name, node in nodes.nodes.items()}
        self._rows: dict[str, dict[str, Row]] = {}

    def free(self, node: str) -> Amounts:
        """Amounts that are free on a node; below zero where more is taken than there is."""
        return self._free[node]

    def update(self, node: str, used: Amounts) -> None:
        """Take in what the pods on a node take now; a node that is not known yet, or no more, has no room."""
        known = self.nodes.nodes.get(node)
        if known is None:
            return
        self._free[node] = now = _left(known.allocatable, used)
        _write(self._rows, self.nodes, node, now)

    def row(self, flavor: str, resource: str) -> Row:
        """Return what the flavor's usable nodes have free of a resource; not to be changed."""
        rows = self._rows.setdefault(flavor, {})
        if resource not in rows:
            amounts = (self._free[name].get(resource) for name in self.nodes.in_order(flavor))
            rows[resource] = np.array([_written(one) for one in amounts], dtype=np.int64)
        return rows[resource]


class RoomLeft:
    """What a decision leaves of the room.

    `compared` counts the nodes that were compared with what a pod asks for, many at once in arrays; `visited` those
    that were by themselves, which takes a hundred times as long.
    """

    def __init__(self, room: Room) -> None:
        """`room` stays as it is, and must not change meanwhile."""
        self._room = room
        self._free: dict[str, dict[str, int]] = {}
        self._rows: dict[str, dict[str, Row]] = {}
        self._moving: set[str] = set()
        self._moved: dict[str, list[int]] = {}
        self._scarcest: dict[tuple[str, Requests], tuple[str, int]] = {}
        self.compared = 0
        self.visited = 0

    def fork(self) -> RoomLeft:
        """Return one that goes on from here by itself."""
        other = RoomLeft(self._room)
        other._free = {node: dict(free) for node, free in self._free.items()}
        other._rows = {flavor: {name: row.copy() for name, row in rows.items()} for flavor, rows in self._rows.items()}
        other._moving = set(self._moving)
        other._scarcest = self._scarcest
        return other

    def free(self, node: str) -> Amounts:
        """Amounts that are left on a node."""
        return self._free.get(node) or self._room.free(node)

    def take(self, node: str, requests: Requests) -> None:
        """Take one of these from a node; of what the node no longer has there is nothing to take, nor to give back."""
        free = self._free.get(node)
        if free is None:
            free = self._free[node] = dict(self._room.free(node))
        self._moving.add(node)
        for resource, need in requests:
            if resource in free:
                free[resource] -= need

    def find(self, search: Search) -> str | None:
        """Return the fullest of the allowed nodes with room; None without one."""
        return next(iter(self.pack(search, 1)), None)

    def pack(self, search: Search, count: int) -> list[str]:
        """Return a node for each of `count` pods, fullest first, as many on each as it has room for; fewer at the end.

        Fullest: with the least left of the resource of which the fewest nodes have enough, so that large holes are
        kept for large pods. Best fit: what several leave is left where most is left.
        """
        if search.fullest is not None:
            nodes = self._among(search, search.fullest, count)
            if len(nodes) == count:
                return nodes
        search.at = self._fitting(search.flavor, search.requests, search.at)
        if not search.at.size:
            return []
        scarce, need = self._scarce(search.flavor, search.requests)
        row = self._row(search.flavor, scarce)
        amounts = row[search.at]
        if search.spreads:
            return self._spread(search, amounts, need, count)
        search.fullest = None
        if search.is_kept and len(amounts) > _MANY:
            search.fullest = Fullest(search.at, amounts, len(row), len(self._moved.get(search.flavor, ())))
        return self._fill(search, search.at, amounts, count)

    def _among(self, search: Search, fullest: Fullest, count: int) -> list[str]:
        """Return nodes as `pack` does, fewer where more may be elsewhere than among the fullest."""
        row = self._row(search.flavor, self._scarce(search.flavor, search.requests)[0])
        moved = self._moved.get(search.flavor, [])[fullest.seen :]
        if len(moved) > len(search.at) // 2:
            return []  # to look at all is no more work
        known = fullest.take_in(moved)
        at = self._fitting(search.flavor, search.requests, known)
        if len(at) < len(known):
            fullest.keep(at)
        most, last = fullest.bound
        amounts = row[at]
        within = (amounts < most) | ((amounts == most) & (at <= last))
        return self._fill(search, at[within], amounts[within], count)

    def _fill(self, search: Search, at: NodeNumbers, amounts: Row, count: int) -> list[str]:
        """Return a node for each of `count` pods, of those at these places, fullest first. Changes the amounts."""
        names, nodes = self._room.nodes.in_order(search.flavor), list[str]()
        for place in _ascending(amounts):
            node = names[at[place]]
            nodes += [node] * min(count - len(nodes), self.count(node, search.requests))
            if len(nodes) == count:
                break
        return nodes

    def _spread(self, search: Search, amounts: Row, need: int, count: int) -> list[str]:
        """Return a node for each of `count` pods, each that of which most is left then; fewer where room ends."""
        names, nodes = self._room.nodes.in_order(search.flavor), list[str]()
        taken: dict[str, int] = {}
        while len(nodes) < count:
            last = len(amounts) - 1 - int(amounts[::-1].argmax())
            if amounts[last] < need:
                break
            node = names[search.at[last]]
            if self.count(node, search.requests) <= taken.get(node, 0):
                amounts[last] = _NONE
                continue
            nodes.append(node)
            taken[node] = taken.get(node, 0) + 1
            amounts[last] -= need
        return nodes

    def fits(self, node: str, requests: Requests) -> bool:
        """Say whether a node has room for one of these."""
        return self.count(node, requests) > 0 if requests else True

    def count(self, node: str, requests: Requests) -> int:
        """Say how many of these a node has room for."""
        self.visited += 1
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

    def most(self, flavor: str, resource: str, at: NodeNumbers) -> int:
        """Say how much of a resource the one of these usable nodes of a flavor has that has the most left."""
        self.compared += len(at)
        most = int(self._row(flavor, resource)[at].max(initial=_NONE))
        return 0 if most == _NONE else most

    def emptiest(self, flavor: str, requests: Requests, at: NodeNumbers) -> str | None:
        """Return the one with room for one of these that has most left of the first resource; None: none has room."""
        node = self._with_most(flavor, requests, at)
        if node is None or self.fits(node, requests):
            return node
        return self._with_most(flavor, requests, self._fitting(flavor, requests, at))

    def _with_most(self, flavor: str, requests: Requests, at: NodeNumbers) -> str | None:
        """Return the one of these places with most left of the first resource."""
        self.compared += len(at)
        if not at.size or not requests:
            return None
        most = int(self._row(flavor, requests[0][0])[at].argmax())
        return self._room.nodes.in_order(flavor)[int(at[most])]

    def _fitting(self, flavor: str, requests: Requests, at: NodeNumbers) -> NodeNumbers:
        """Return those of these places where there is enough of everything; none for a pod that asks for nothing."""
        self.compared += len(at)
        for resource, need in requests:
            at = at[self._row(flavor, resource)[at] >= need]
        return at if requests else at[:0]

    def _scarce(self, flavor: str, requests: Requests) -> tuple[str, int]:
        """Return the resource of which the fewest nodes had enough when the decision began, and the need of it."""
        known = self._scarcest.get((flavor, requests))
        if known is None:
            enough = [np.count_nonzero(self._room.row(flavor, resource) >= need) for resource, need in requests]
            known = self._scarcest[flavor, requests] = requests[enough.index(min(enough))]
        return known

    def _row(self, flavor: str, resource: str) -> Row:
        if self._moving:
            # once for all that a run of pods took
            for node in self._moving:
                _write(self._rows, self._room.nodes, node, self._free[node])
                place = self._room.nodes.place_of.get(node)
                if place is not None:
                    self._moved.setdefault(place[0], []).append(place[1])
            self._moving.clear()
        rows = self._rows.setdefault(flavor, {})
        row = rows.get(resource)
        if row is None:
            row = rows[resource] = self._room.row(flavor, resource).copy()
            for node, free in self._free.items():
                place = self._room.nodes.place_of.get(node)
                if place is not None and place[0] == flavor:
                    row[place[1]] = _written(free.get(resource))
        return row


def _left(allocatable: Amounts, used: Amounts) -> Amounts:
    return {resource: amount - used.get(resource, 0) for resource, amount in allocatable.items()}


def _write(rows: Mapping[str, Mapping[str, Row]], nodes: NodeIndex, node: str, free: Amounts) -> None:
    """Note what a node has free now; one that is not usable stands nowhere, though pods leave it."""
    place = nodes.place_of.get(node)
    if place is not None:
        for resource, row in rows.get(place[0], {}).items():
            row[place[1]] = _written(free.get(resource))


def _written(amount: int | None) -> int:
    if amount is None:
        return _NONE
    return amount if _LEAST < amount < _MOST else _MOST if amount > 0 else _LEAST


def _ascending(amounts: Row) -> Iterator[int]:
    """Yield where the least is, then the next, the first of equal ones first. Changes the amounts."""
    for _ in range(min(_FEW, len(amounts))):
        least = int(amounts.argmin())
        amounts[least] = _MOST + 1
        yield least
    yield from map(int, amounts.argsort(kind="stable")[: max(0, len(amounts) - _FEW)])
