"""What others may still have while somebody waits for victims to go (docs/preemption.md).

Until they are gone both hold: nobody gets what the victims still have, and nobody what the preemptor needs. How much of
the one covers the other is not said, so between the two readings either is allowed.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, replace

from tests.oracle import rules, sets
from tests.oracle.gangs import Workload
from tests.oracle.preempting import Claim, ending_named, fault, is_certain, is_possible, without
from tests.oracle.rules import MILDEST_FIRST, Turn
from tests.oracle.tree import Placed
from tests.oracle.worlds import Queue, World

ANY_REASON = frozenset({*MILDEST_FIRST, "QueueLimit", "Preempting"})
_MOST = 16
"""Ways of holding that are followed; where there are more, little is asked of what comes then."""

Way = tuple[Placed, ...]


@dataclass(frozen=True, slots=True)
class Held:
    """Who was sent away, and the ways in which preemptors may stand when they are gone.

    None: not known, or too many to follow. `counted` are those who end anyway and may count for one of them.
    """

    going: frozenset[str] = frozenset()
    ways: tuple[Way, ...] | None = ((),)
    counted: frozenset[str] = frozenset()

    def standing(self, placed: tuple[Placed, ...], way: Way) -> tuple[Placed, ...]:
        """Who stands when these are gone."""
        return (*without(placed, self.going), *way)


def turn(world: World, placed: tuple[Placed, ...], held: Held, queue: Queue, one: Workload) -> Turn:
    """What becomes of a workload if it is its turn, beside what is held."""
    now = sets.turn(world, placed, queue, one)
    if held.ways == ((),):
        return now
    if not now.flavors:
        return Turn(reasons=ANY_REASON)
    if held.ways is None or queue.is_any or queue.is_mixed:
        names = tuple(name for name, _ in queue.quotas)
        return Turn((*names, rules.OR.join(names)), reasons=ANY_REASON)
    ending = {running.name for running in world.running if running.is_ending}
    may = [
        flavor
        for flavor in Claim(world, placed, queue, one).flavors(frozenset())
        if any(Claim(world, held.standing(placed, way), queue, one).fits((flavor,), ending) for way in held.ways)
    ]
    is_sure = all(sets.turn(world, (*placed, *way), queue, one).flavors for way in held.ways)
    return Turn(tuple(may), reasons=frozenset() if may and is_sure else ANY_REASON)


def taken_from(world: World, placed: tuple[Placed, ...], held: Held) -> Held | None:
    """What is held after somebody was admitted; None: it took what is held."""
    if held.ways is None:
        return held
    ending = {one.name for one in world.running if one.is_ending}
    ways = tuple(way for way in held.ways if _has_room(world, without(held.standing(placed, way), ending), way))
    return replace(held, ways=ways) if ways else None


def _has_room(world: World, standing: tuple[Placed, ...], way: Way) -> bool:
    """Whether there is room on the nodes where preemptors are to go, of what these ask for there.

    Strangers may have taken more than there is of something else.
    """
    asked = {(one.node, resource) for one in way for resource, need in one.requests.items() if need}
    return all(
        sum(one.requests.get(resource, 0) for one in standing if one.node == node.name) <= amount
        for node in world.nodes
        for resource, amount in node.amounts.items()
        if (node.name, resource) in asked
    )


def nominated(
    world: World, placed: tuple[Placed, ...], held: Held, queue: Queue, one: Workload, victims: Set[str]
) -> tuple[str, Held]:
    """Say what is wrong with preempting these for the workload (empty: nothing), and what is held from then on."""
    if held.ways is None:
        return "", held
    faults, ways = [], []
    counted = held.counted | {ending.name for ending in ending_named(Claim(world, placed, queue, one))}
    for way in held.ways:
        claim = Claim(world, held.standing(placed, way), queue, one, held.counted)
        faults.append(fault(claim, victims))
        if not faults[-1]:
            ways += [(*way, *placing) for placing in _placings(claim, victims)]
    going, is_simple = held.going | victims, len(one.pods) == 1 and not queue.is_any
    if all(faults):
        return faults[0], held
    return "", Held(going, tuple(ways) if 0 < len(ways) <= _MOST and is_simple else None, counted)


def _placings(claim: Claim, victims: Set[str]) -> list[Way]:
    make, pods = claim.one.sets[0]
    if len(pods) > 1:
        return [()]
    gone = {*victims, *(one.name for one in claim.world.running if one.is_ending)}
    standing, need = without(claim.placed, gone), rules.demand(make.requests)
    return [
        (Placed(need, claim.queue.name, name, node),)
        for name in claim.flavors(gone)
        for flavor in claim.world.flavors
        if flavor.name == name
        for node in rules.places(claim.world, standing, flavor, make)
    ]


def must_preempt(world: World, placed: tuple[Placed, ...], held: Held, queue: Queue, one: Workload) -> bool:
    """Whether others go for the workload in every way of holding."""
    return held.ways is not None and all(
        is_certain(Claim(world, held.standing(placed, way), queue, one)) for way in held.ways
    )


def may_preempt(world: World, placed: tuple[Placed, ...], held: Held, queue: Queue, one: Workload) -> bool:
    """Whether others might go for the workload in some way of holding."""
    return held.ways is None or any(
        is_possible(Claim(world, held.standing(placed, way), queue, one, held.counted)) for way in held.ways
    )
