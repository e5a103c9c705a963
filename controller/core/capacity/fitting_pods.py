"""How many pods of each shape the nodes of a flavor have room for, all nodes together: kept up node by node.

It says for many shapes at once whether there may be room for a pod, or for all pods of a gang. Which node that is, and
what other pods leave of it, is said elsewhere (`node_search`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from controller.core.capacity.node_index import NodeIndex, NodeNumbers
from controller.core.kubernetes.amounts import Requests
from controller.core.queueing.queues import Flavor
from controller.core.workloads.shapes import Shape

Counts = NDArray[np.int64]
Rows = NDArray[np.intp]
Free = Callable[[str], Mapping[str, int]]
"""Says what is free on a node, by resource."""

_MANY: Final = 10**6
"""So many pods on one node are as good as any number."""
_MOST: Final = 2**60
"""Larger amounts are not told apart."""


class FittingPods:
    """Of all flavors whose room is known node by node. Made anew when nodes or flavors change."""

    def __init__(self, nodes: NodeIndex, free: Free) -> None:
        """`free` says what is free now; `update` takes in where that changed."""
        self._nodes = nodes
        self._free = free
        self._of: dict[str, _OfFlavor] = {}
        self._is_shared: set[str] = set()
        """Flavors of which what is known is that of the one that this was forked from."""

    def rows(self, flavor: Flavor, shapes: Sequence[Shape]) -> Rows:
        """Return in which rows of `counts` these shapes are, in their order; new ones are counted."""
        of = self._flavor(flavor.name)
        return of.rows(shapes, lambda shape: self._nodes.places(flavor, shape.constraints))

    def counts(self, flavor: str) -> Counts:
        """Return by row how many pods fit; not to be changed."""
        return self._flavor(flavor).counts

    @property
    def most_shapes(self) -> int:
        """How many shapes are counted in the flavor that has most of them."""
        return max((len(one.counts) for one in self._of.values()), default=0)

    def fork(self, free: Free) -> FittingPods:
        """Return one that goes on from here by itself, where this is free, while this one stays as it is."""
        other = FittingPods(self._nodes, free)
        other._of = dict(self._of)
        other._is_shared = set(self._of)
        return other

    def update(self, nodes: Iterable[str]) -> None:
        """Take in that something else is free on these nodes now."""
        for flavor, moved in self._by_flavor(nodes).items():
            if flavor in self._is_shared:
                self._is_shared.discard(flavor)
                self._of[flavor] = self._of[flavor].fork()
            self._of[flavor].update(moved, self._free)

    def _flavor(self, name: str) -> _OfFlavor:
        if name not in self._of:
            self._of[name] = _OfFlavor(self._nodes.in_order(name), self._free)
        return self._of[name]

    def _by_flavor(self, nodes: Iterable[str]) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for node in nodes:
            flavor, _ = self._nodes.place_of.get(node, ("", 0))
            if flavor in self._of:
                found.setdefault(flavor, []).append(node)
        return found


class _OfFlavor:
    """The counts of one flavor: at any time those that `_left` gives.

    A row of `_needs` is what a shape asks for, by resource; a row of `_sets`, packed bits, are nodes that shapes may
    use, and is shared by all that may use just these.
    """

    def __init__(self, names: Sequence[str], free: Free) -> None:
        self._places = {name: place for place, name in enumerate(names)}
        amounts = [free(name) for name in names]
        self._resources = {resource: at for at, resource in enumerate(sorted({one for it in amounts for one in it}))}
        self._left = np.zeros((len(names), len(self._resources)), dtype=np.int64)
        for place, one in enumerate(amounts):
            self._left[place] = self._row_of_node(one)
        self._row_of: dict[Shape, int] = {}
        self._needs = np.zeros((0, len(self._resources)), dtype=np.int64)
        self._set_of: Rows = np.zeros(0, dtype=np.intp)
        self._sets = np.zeros((0, -(-len(names) // 8)), dtype=np.uint8)
        self._set_numbers: dict[bytes, int] = {}
        self.counts: Counts = np.zeros(0, dtype=np.int64)

    def rows(self, shapes: Sequence[Shape], places_of: Callable[[Shape], NodeNumbers]) -> Rows:
        new = [one for one in dict.fromkeys(shapes) if one not in self._row_of]
        if new:
            self._add(new, [places_of(one) for one in new])
        return np.fromiter((self._row_of[one] for one in shapes), dtype=np.intp, count=len(shapes))

    def _add(self, shapes: Sequence[Shape], places: Sequence[NodeNumbers]) -> None:
        known, needs = len(self.counts), [self._need(one.requests) for one in shapes]
        may_run = [of if need is not None else of[:0] for need, of in zip(needs, places, strict=True)]
        counts = np.zeros(len(shapes), dtype=np.int64)
        for at, (need, of) in enumerate(zip(needs, may_run, strict=True)):
            self._row_of[shapes[at]] = known + at
            if need is not None:
                counts[at] = _pods(self._left[of], need).sum()
        sets = self._numbers_of(may_run)
        nothing = np.zeros(len(self._resources), dtype=np.int64)
        self._needs = np.vstack([self._needs, *[nothing if one is None else one for one in needs]])
        self._set_of = np.concatenate([self._set_of, np.array(sets, dtype=np.intp)])
        self.counts = np.concatenate([self.counts, counts])

    def _need(self, requests: Requests) -> Counts | None:
        """Return what is asked for by resource; None: of a resource that no node has, or nothing at all."""
        need = np.zeros(len(self._resources), dtype=np.int64)
        for resource, amount in requests:
            if resource not in self._resources:
                return None
            need[self._resources[resource]] = min(amount, _MOST)
        return need if requests else None

    def _numbers_of(self, sets: Iterable[NodeNumbers]) -> list[int]:
        """Return the numbers of these sets of nodes; equal ones have one."""
        numbers, new = list[int](), list[NDArray[np.uint8]]()
        for places in sets:
            marks = np.zeros(len(self._places), dtype=np.bool_)
            marks[places] = True
            packed = np.packbits(marks)
            number = self._set_numbers.setdefault(packed.tobytes(), len(self._set_numbers))
            if number == len(self._sets) + len(new):
                new.append(packed)
            numbers.append(number)
        self._sets = np.vstack([self._sets, *new])
        return numbers

    def _row_of_node(self, free: Mapping[str, int]) -> Counts:
        amounts = (min(max(free.get(one, 0), 0), _MOST) for one in self._resources)
        return np.fromiter(amounts, dtype=np.int64, count=len(self._resources))

    def update(self, nodes: Iterable[str], free: Free) -> None:
        for node in dict.fromkeys(nodes):
            place, now = self._places[node], self._row_of_node(free(node))
            rows, moved = self._moved(place, now)
            self.counts[rows] += moved
            self._left[place] = now

    def fork(self) -> _OfFlavor:
        other = _OfFlavor((), dict[str, Mapping[str, int]]().__getitem__)
        other._places, other._resources = self._places, self._resources
        other._row_of, other._needs = self._row_of, self._needs
        other._set_of, other._sets, other._set_numbers = self._set_of, self._sets, self._set_numbers
        other._left, other.counts = self._left.copy(), self.counts.copy()
        return other

    def _moved(self, place: int, now: Counts) -> tuple[Rows, Counts]:
        """Return whose counts are others with this left on a node, and by how many pods."""
        may_use = (self._sets[:, place >> 3] >> (7 - (place & 7))) & 1
        rows = np.flatnonzero(may_use[self._set_of])
        needs = self._needs[rows]
        return rows, _pods(now, needs) - _pods(self._left[place], needs)


def _pods(left: Counts, needs: Counts) -> Counts:
    """Return how many pods fit: of one need on many nodes, or of many needs on one."""
    is_asked = needs > 0
    fit = np.where(is_asked, left // np.where(is_asked, needs, 1), _MANY)
    found: Counts = np.minimum(_MANY, fit.min(axis=-1, initial=_MANY))
    return found
