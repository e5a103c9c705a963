"""Turns of workloads of several pods: those of one make go to one flavor, those of another maybe to another.

Pods alike fit wherever they are put first. Of unlike ones the documents say that larger go first, each on the fullest
node, and not what is larger or fuller where resources compete: then both that they find room and that they do not are
allowed, unless no way at all, or every way, leads to room for all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product

from tests.oracle import mixture, rules
from tests.oracle.gangs import Workload
from tests.oracle.rules import MILDEST_FIRST, Turn, demand
from tests.oracle.tree import Placed, limit_faults
from tests.oracle.worlds import Amounts, Flavor, Make, Pod, Queue, World

Sets = Sequence[tuple[Make, tuple[Pod, ...]]]
Chosen = Sequence[tuple[Pod, str, str | None]]
"""Each pod of a workload with the flavor and node that it got."""

_MOST_TRIED = 4
"""Pods of a gang whose every way of being placed is tried."""


def turn(world: World, placed: Sequence[Placed], queue: Queue, one: Workload) -> Turn:
    """What becomes of a workload if it is its turn."""
    sets = one.sets
    if len(sets) == 1:
        make, pods = sets[0]
        return rules.turn(world, placed, queue, make, len(pods))
    found = limit_faults(world, placed, queue, _total((make, len(pods)) for make, pods in sets))
    if found:
        return Turn(reasons=frozenset(found))
    worst = MILDEST_FIRST if queue.is_mixed else MILDEST_FIRST[:3]
    ways = [onto for onto in _every_way(queue, sets) if _has_quota(world, (), queue, sets, onto)]
    possible = [onto for onto in ways if _fits(world, placed, queue, sets, onto)]
    if not possible:
        if not any(_has_quota(world, (), queue, sets, onto) for onto in _every_way(queue, sets)):
            return Turn(reasons=frozenset({"NeverFits"}))
        is_possible_ever = any(_fits(world, (), queue, sets, onto) for onto in ways)
        return Turn(reasons=frozenset(worst if is_possible_ever else MILDEST_FIRST))
    first = (queue.quotas[0][0],) * len(sets)
    is_plain = not (queue.tries_next or queue.is_any or queue.is_mixed)
    if first in possible and is_plain and _never_gets_stuck(world, placed, sets, first[0]):
        return Turn((first[0],))
    if not (queue.is_any or queue.is_mixed) and _goes_one_way(world, placed, queue, sets, possible, ways):
        return Turn(tuple(dict.fromkeys(possible[0])))
    names = tuple({flavor: None for onto in possible for flavor in onto})
    if queue.is_any and len(queue.quotas) > 1:
        names = (*names, rules.OR.join(name for name, _ in queue.quotas))
    return Turn(names, reasons=frozenset(worst))


def _every_way(queue: Queue, sets: Sets) -> list[tuple[str, ...]]:
    """A flavor for each set."""
    return list(product([name for name, _ in queue.quotas], repeat=len(sets)))


def _goes_one_way(
    world: World,
    placed: Sequence[Placed],
    queue: Queue,
    sets: Sets,
    possible: Sequence[tuple[str, ...]],
    ways: Sequence[tuple[str, ...]],
) -> bool:
    """Whether each set has but one flavor that it could ever have, and all find room there whichever goes first."""
    if len(ways) != 1 or [*possible] != [*ways]:
        return False
    # where one could go elsewhere by itself, it may be put there first, and be in the way of the others
    for one in sets:
        if sum(_has_quota(world, (), queue, [one], (name,)) for name, _ in queue.quotas) > 1:
            return False
    for name in {*ways[0]}:
        there = [one for one, flavor in zip(sets, ways[0], strict=True) if flavor == name]
        if not _never_gets_stuck(world, placed, there, name):
            return False
    return True


def _has_quota(world: World, placed: Sequence[Placed], queue: Queue, sets: Sets, onto: tuple[str, ...]) -> bool:
    """Whether quotas, and the sums of Static flavors, give each set the flavor that is for it, all of them together."""
    for name, quota in queue.quotas:
        there = [(make, len(pods)) for (make, pods), flavor in zip(sets, onto, strict=True) if flavor == name]
        flavor = _flavor(world, name)
        if any(rules.contradict(make, flavor) for make, _ in there):
            return False
        if there and rules.quota_faults(world, placed, queue, name, quota, _total(there)):
            return False
        if there and flavor.static is not None and rules.static_faults(placed, flavor, _total(there)):
            return False
    return True


def _total(sets: Iterable[tuple[Make, int]]) -> Amounts:
    total: dict[str, int] = {}
    for make, count in sets:
        for resource, amount in demand(make.requests, count).items():
            total[resource] = total.get(resource, 0) + amount
    return total


def _fits(world: World, placed: Sequence[Placed], queue: Queue, sets: Sets, onto: tuple[str, ...]) -> bool:
    """Whether each set can have the flavor that is for it, all of them together."""
    if not _has_quota(world, placed, queue, sets, onto):
        return False
    pods = [(flavor, make) for (make, alike), flavor in zip(sets, onto, strict=True) for _ in alike]
    then = [*placed, *(Placed({}, queue.name, flavor, None) for flavor, _ in pods)]
    if not _keeps_mix(world, then, queue, onto):
        return False
    return _has_room(world, placed, queue, [(_flavor(world, flavor), make) for flavor, make in pods])


def _keeps_mix(world: World, then: Iterable[Placed], queue: Queue, onto: Iterable[str]) -> bool:
    """Whether the queue may have as many pods on spot as it has `then`; nobody more came there `onto`: whatever."""
    spot = {one.name for one in world.flavors if one.is_spot}
    return spot.isdisjoint(onto) or mixture.keeps(world, then, queue)


def _has_room(world: World, placed: Sequence[Placed], queue: Queue, pods: Sequence[tuple[Flavor, Make]]) -> bool:
    """Whether there is any way to place all of them."""
    if not pods:
        return True
    (flavor, make), *others = pods
    need = demand(make.requests)
    return any(
        _has_room(world, (*placed, Placed(need, queue.name, flavor.name, node)), queue, others)
        for node in rules.places(world, placed, flavor, make)
    )


def _never_gets_stuck(world: World, placed: Sequence[Placed], sets: Sets, flavor: str) -> bool:
    """Whether the pods find room whichever goes first, wherever each of them goes."""
    makes = [make for make, pods in sets for _ in pods]
    return len(makes) <= _MOST_TRIED and not _gets_stuck(world, placed, _flavor(world, flavor), makes, [])


def _gets_stuck(
    world: World, placed: Sequence[Placed], flavor: Flavor, makes: Sequence[Make], left: Sequence[Make]
) -> bool:
    """Whether those `left`, and some of the others, may find no room after the rest were placed in some way."""
    if not makes:
        return any(not rules.places(world, placed, flavor, make) for make in left)
    make, *others = makes
    return _gets_stuck(world, placed, flavor, others, [*left, make]) or any(
        _gets_stuck(world, (*placed, Placed(demand(make.requests), "", flavor.name, node)), flavor, others, left)
        for node in rules.places(world, placed, flavor, make)
    )


def judge(
    world: World, placed: tuple[Placed, ...], queue: Queue, turn: Turn, chosen: Chosen
) -> tuple[str, tuple[Placed, ...]]:
    """Say what is wrong with where the pods of a workload went (empty: nothing), and who is placed with them."""
    onto: dict[str, str] = {}
    for pod, flavor, node in chosen:
        should = f"by the rules it goes onto {' or '.join(turn.flavors)}"
        if flavor not in turn.flavors:
            return f"{pod.name}: went onto {(flavor, node)}; {should}, on {turn.nodes}", placed
        if onto.setdefault(str(pod.make), flavor) != flavor:
            return f"{pod.name}: went onto {flavor}; those of its make onto {onto[str(pod.make)]}", placed
        first, *also = flavor.split(rules.OR)
        free = rules.places(world, placed, _flavor(world, first), pod.make)
        if node not in free:
            return f"{pod.name}: went onto {(flavor, node)}; {should}, on {free}", placed
        need = demand(pod.make.requests)
        for name in (first, *also):
            found = rules.quota_faults(world, placed, queue, name, dict(queue.quotas)[name], need)
            if found:
                return f"{pod.name}: went onto {(flavor, node)}; there it waits with {sorted(found)}", placed
        placed = (*placed, Placed(need, queue.name, first, node, also=tuple(also)))
    if not _keeps_mix(world, placed, queue, onto.values()):
        return f"{chosen[0][0].name}: passes the mix of its queue", placed
    return "", placed


def _flavor(world: World, name: str) -> Flavor:
    return next(one for one in world.flavors if one.name == name)
