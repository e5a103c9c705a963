"""Whose turn it is in a tree that shares fairly (docs/fair-sharing.md), with shares as exact fractions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction

from tests.oracle.gangs import Workload
from tests.oracle.rules import OR, Place, Turn, demand
from tests.oracle.tree import Column, Placed, children, everyone, path
from tests.oracle.worlds import Queue, World

Heads = Mapping[str, tuple[Workload, Turn]]
"""Of each queue that has one, the first of its line, which can be admitted now, and onto what."""
Share = tuple[bool, Fraction]
"""Whether it is infinite; what it is, for a weight of 0 before the weight."""


def champion(world: World, placed: tuple[Placed, ...], top: Queue, heads: Heads) -> str | None:
    """The queue at or below this one that goes next; None: nobody there can be admitted."""
    if top.name in heads:
        return top.name
    winners = [(one, champion(world, placed, one, heads)) for one in children(world, top)]
    keys = {name: _key(world, placed, top, child, name, heads) for child, name in winners if name is not None}
    return min(keys, key=lambda name: keys[name], default=None)


def _key(
    world: World, placed: tuple[Placed, ...], above: Queue, child: Queue, name: str, heads: Heads
) -> tuple[bool, Share, Place]:
    """Nothing borrowed first, then the smaller share, then the order; all with the workload's own demand."""
    one, turn = heads[name]
    first, *also = turn.flavors[0].split(OR)
    need = demand(one.sets[0][0].requests, len(one.pods))
    then = (*placed, Placed(need, name, first, None, also=tuple(also)))
    borrows = any(
        column.used(child) > column.owned(child)
        for column in columns(world, then, child)
        if column.resource in need and column.flavor in (first, *also)
    )
    return borrows, share(world, then, above, child), one.place


def share(world: World, placed: tuple[Placed, ...], above: Queue, child: Queue) -> Share:
    """The dominant one: of each resource what is borrowed of all that the queues of its parent could get.

    They could get of every flavor of the tree, also of one that none of them names.
    """
    borrowed: dict[str, int] = {}
    for column in columns(world, placed, child):
        beyond = max(0, column.used(child) - column.owned(child))
        borrowed[column.resource] = borrowed.get(column.resource, 0) + beyond
    root = path(world, above)[-1]
    most = {name: sum(column.left(above) for column in columns(world, (), root, name)) for name in borrowed}
    largest = max((Fraction(borrowed[name], most[name]) for name in borrowed if most[name] > 0), default=Fraction(0))
    return (True, largest) if not child.weight and largest else (False, largest / (child.weight or 1))


def columns(world: World, placed: tuple[Placed, ...], top: Queue, resource: str = "") -> Iterator[Column]:
    """Yield those of which somebody at or below the queue has quota, of one resource or of all."""
    named = {(flavor, name) for one in everyone(world, top) for flavor, given in one.quotas for name in given}
    return (Column(world, placed, flavor, name) for flavor, name in sorted(named) if resource in ("", name))
