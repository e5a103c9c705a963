"""Who goes before a workload that borrows, though it stands behind it: who would have others go for it (docs/order.md).

By the order the older one would be admitted, and somebody be evicted for the owner of the quota in the same decision.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tests.oracle import holding, rules, sets
from tests.oracle.gangs import Workload
from tests.oracle.holding import Held
from tests.oracle.rules import OR, Turn
from tests.oracle.tree import Column, Placed, path
from tests.oracle.worlds import Queue, World

Chosen = Mapping[str, tuple[str, str | None]]
"""Where each pod went that was admitted, in that order."""


@dataclass(frozen=True, slots=True)
class Heads:
    """The first of all lines that take their turns by the order, with what stands and is held at that moment."""

    world: World
    placed: tuple[Placed, ...]
    held: Held
    lines: Mapping[str, tuple[Workload, ...]]

    def turn(self, name: str, more: Sequence[Placed] = ()) -> Turn:
        """What becomes of the head of a line, once `more` is placed too."""
        return holding.turn(self.world, (*self.placed, *more), self.held, self.queue(name), self.lines[name][0])

    def queue(self, name: str) -> Queue:
        """The queue of a line."""
        return next(one for one in self.world.queues if one.name == name)


def goes_now(heads: Heads, first: str, went: Chosen) -> tuple[str, str]:
    """Return the line whose head goes now where `first` is the first by the order, and what is wrong with that.

    Whether others would be preempted the rules often leave open; then it was as it happened.
    """
    turn, order = heads.turn(first), [*went]
    if not turn.flavors:
        return first, ""
    at = _place(heads, first, order)
    owners = [name for name in heads.lines if name != first and _may_be_owner(heads, first, name)]
    before = [name for name in owners if _place(heads, name, order) < at]
    for name in sorted(before, key=lambda name: _place(heads, name, order)):
        if any(_may_displace(heads, first, more, name) for more in _options(heads, first, turn)):
            return name, ""
    for name in owners:
        if name not in before and _must_go_first(heads, first, name, turn, went):
            pod = heads.lines[name][0].pods[0].name
            return first, f"{pod}: owns what goes to {heads.lines[first][0].pods[0].name}, and others go for it"
    return first, ""


def _place(heads: Heads, name: str, order: Sequence[str]) -> int:
    pod = heads.lines[name][0].pods[0].name
    return order.index(pod) if pod in order else len(order)


def _may_be_owner(heads: Heads, first: str, name: str) -> bool:
    one, queue = heads.lines[name][0], heads.queue(name)
    if path(heads.world, queue)[-1] != path(heads.world, heads.queue(first))[-1]:
        return False
    if (queue.preemption.within, queue.preemption.reclaim) == ("Never", "Never"):
        return False
    turn = heads.turn(name)
    return bool(turn.flavors) and (turn.borrows == 0 or len(one.sets) > 1)


def _options(heads: Heads, first: str, turn: Turn) -> Iterator[tuple[Placed, ...]]:
    """Yield the ways in which the first might be placed at its turn."""
    one, queue = heads.lines[first][0], heads.queue(first)
    if len(one.pods) > 1:
        yield ()  # it is not followed where each of them might go
        return
    make, _ = one.sets[0]
    for flavor in turn.flavors:
        name, *also = flavor.split(OR)
        of = next(one for one in heads.world.flavors if one.name == name)
        for node in rules.places(heads.world, heads.placed, of, make):
            yield (Placed(rules.demand(make.requests), queue.name, name, node, also=tuple(also)),)


def _as_it_went(heads: Heads, first: str, went: Chosen) -> tuple[Placed, ...]:
    found = []
    for pod in heads.lines[first][0].pods:
        flavor, node = went[pod.name]
        name, *also = flavor.split(OR)
        found.append(Placed(rules.demand(pod.make.requests), first, name, node, also=tuple(also)))
    return tuple(found)


def _may_displace(heads: Heads, first: str, more: tuple[Placed, ...], name: str) -> bool:
    """Whether others might be preempted for the head of a line once this is placed; unless it is not known what is."""
    if more and not any(_borrowed(heads, first, more)):
        return False
    turn = heads.turn(name, more)
    if more and turn.flavors and not turn.reasons:
        return False
    placed, queue, one = (*heads.placed, *more), heads.queue(name), heads.lines[name][0]
    return not more or holding.may_preempt(heads.world, placed, heads.held, queue, one)


def _must_go_first(heads: Heads, first: str, name: str, turn: Turn, went: Chosen) -> bool:
    """Whether beyond doubt the first borrows, and others go for the head of this line then, which fits before."""
    one, other, queue = heads.lines[first][0], heads.lines[name][0], heads.queue(name)
    # who ends anyway may be waited for, and nobody is evicted then
    is_anyone_ending = any(it.is_ending for it in heads.world.running)
    is_plain = heads.held.ways == ((),) and len(one.sets) == len(other.sets) == 1 and not is_anyone_ending
    if not is_plain or turn.reasons or heads.turn(name).reasons or any(pod.name not in went for pod in one.pods):
        return False
    more = _as_it_went(heads, first, went)
    placed = (*heads.placed, *more)
    if sets.turn(heads.world, placed, queue, other).flavors:
        return False
    make, pods = other.sets[0]
    is_contested = any(
        Column(heads.world, placed, flavor, resource).left(queue) < need
        for flavor, resource in _borrowed(heads, first, more)
        for asked, need in rules.demand(make.requests, len(pods)).items()
        if asked == resource and flavor in dict(queue.quotas)
    )
    return is_contested and holding.must_preempt(heads.world, placed, heads.held, queue, other)


def _borrowed(heads: Heads, first: str, more: Sequence[Placed]) -> Iterator[tuple[str, str]]:
    """Yield of what the first borrows then, also where it only holds quota."""
    queue = heads.queue(first)
    held = {(flavor, resource) for one in more for flavor in (one.flavor, *one.also) for resource in one.requests}
    for flavor, resource in held:
        column = Column(heads.world, (*heads.placed, *more), flavor, resource)
        if resource in dict(queue.quotas)[flavor] and column.used(queue) > column.owned(queue):
            yield flavor, resource
