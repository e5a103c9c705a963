"""Who may be preempted for a workload, and whether those who are had to go (docs/preemption.md).

The search may choose, so what is held is what holds whatever it chooses: each victim is one that the policies give, all
of them together are enough, and none could have stayed. Where a queue preempts its own pods alone the choice is fixed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from itertools import chain, combinations, product

from tests.oracle import fairness, reclaiming, rules, sets, shortages
from tests.oracle.gangs import Workload
from tests.oracle.tree import Column, Placed, everyone, path
from tests.oracle.worlds import Queue, Running, World

Onto = tuple[str, ...]
"""A flavor for each set of a workload."""
Unit = tuple[Running, ...]
"""Pods that go together or not at all."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A workload of a queue that finds no quota or room among those who stand, some of whom end without us.

    `counted` are those who end and for whom others wait already, so that they may count for it too.
    """

    world: World
    placed: tuple[Placed, ...]
    queue: Queue
    one: Workload
    counted: frozenset[str] = frozenset()
    before: tuple[Placed, ...] | None = None
    """Who stood before those went who end; None: the same."""

    @property
    def priority(self) -> int:
        """The lowest of its members."""
        return min(pod.priority for pod in self.one.pods)

    def fits(self, onto: Onto, gone: Set[str], *, surely: bool = False) -> bool:
        """Whether the flavor would take it without these; of unlike pods, whether the flavors together would.

        `surely`: whichever of these goes first, and to which flavor.
        """
        queue = self.queue
        if len(self.one.sets) == 1:
            queue = replace(queue, quotas=tuple(one for one in queue.quotas if one[0] == onto[0]))
        turn = sets.turn(self.world, without(self.placed, gone), queue, self.one)
        return bool(turn.flavors) and not (surely and turn.reasons)

    def flavors(self, gone: Set[str]) -> list[str]:
        """The flavors that would take it without these."""
        return [name for name, _ in self.queue.quotas if self.fits((name,), gone)]

    def ways(self, gone: Set[str]) -> list[Onto]:
        """A flavor for each of its sets that may be where it fits without these."""
        return [onto for onto in product(dict(self.queue.quotas), repeat=len(self.one.sets)) if self.fits(onto, gone)]

    def units(self) -> list[Unit]:
        """Those who stand and have quota, those of one gang together; in place of members that go, apart from them."""
        there = {one.name for one in self.placed}
        found: dict[tuple[str, str], Unit] = {}
        for one in self.world.running:
            if one.queue:
                key = (one.namespace, one.group) if one.group else ("", one.name)
                found[key] = (*found.get(key, ()), one)
        # who has gone in some reading was a member all the same
        parts = chain.from_iterable(map(_apart, found.values()))
        standing = (tuple(one for one in part if one.name in there) for part in parts)
        return [unit for unit in standing if unit]


def _apart(unit: Unit) -> tuple[Unit, Unit]:
    """Part a gang from the pods that were admitted after all of its members that end: they go on without it."""
    last = min((one.minutes for one in unit if one.is_ending), default=0)
    anew = tuple(one for one in unit if not one.is_ending and one.minutes < last)
    return tuple(one for one in unit if one not in anew), anew


def without(placed: Iterable[Placed], gone: Set[str]) -> tuple[Placed, ...]:
    """Who stands when these are gone."""
    return tuple(one for one in placed if one.name not in gone)


def ending_named(claim: Claim) -> list[Running]:
    """Those who end anyway, of those whom the policy of the preemptor's queue names, or whom it replaces."""
    ending = (one for one in claim.world.running if one.is_ending and one.queue)
    return [one for one in ending if _is_named(claim, one) or _is_replaced(claim, one)]


def _is_replaced(claim: Claim, one: Running) -> bool:
    """Whether a member that ends is of the preemptor's own gang: what it leaves is for who comes in its place."""
    is_asked = one.queue == claim.queue.name and claim.queue.preemption.within != "Never"
    return is_asked and _is_of_its_gang(claim, one)


def _is_of_its_gang(claim: Claim, one: Running) -> bool:
    own = claim.one.pods[0]
    return bool(own.group) and (own.namespace, own.group) == (one.namespace, one.group)


def fault(claim: Claim, victims: Set[str]) -> str:
    """Say what is wrong with the eviction of these for it; empty: nothing.

    Who goes anyway counts if it might be preempted. Whether one counts who only might in another state is not said.
    """
    ending = {one.name for one in claim.world.running if one.is_ending}
    named = ending_named(claim)
    of_flavors = [{one.name for one in named if one.flavor == flavor} for flavor, _ in claim.queue.quotas]
    readings = [{one.name for one in named}, *of_flavors, ending, set()]
    # who counts for those before it, and so goes without it, are as many of them as these need
    readings = [reading | set(part) for reading in readings for part in _parts(claim.counted)]
    together = {name for unit in claim.units() if _names(unit) & victims for name in _names(unit)}
    without_these = [without(claim.placed, gone - together) for gone in readings]
    found = [_fault(replace(claim, placed=placed, before=claim.placed), victims) for placed in without_these]
    return "" if "" in found else found[0]


def _parts(of: Set[str]) -> Iterator[tuple[str, ...]]:
    return chain.from_iterable(combinations(sorted(of), count) for count in range(len(of) + 1))


def _fault(claim: Claim, victims: Set[str]) -> str:
    taken = [unit for unit in claim.units() if any(one.name in victims for one in unit)]
    if {one.name for unit in taken for one in unit if not one.is_ending} != victims:
        return f"a gang goes as a whole, and who goes already is not evicted: {sorted(victims)}"
    victims = {name for unit in taken for name in _names(unit)}
    for unit in taken:
        if not may_go(claim, unit):
            return f"{unit[0].name}: may not be preempted"
    enough = claim.ways(victims)
    if not enough:
        return f"does not fit without {sorted(victims)}"
    lawful = [onto for onto in enough if _gives_back(claim, onto, taken)]
    if not lawful:
        return f"some of {sorted(victims)} have only what their queues own, or it borrows where it may not"
    if all(any(_could_stay(claim, onto, taken, unit) for unit in taken) for onto in lawful):
        return f"some of {sorted(victims)} could have stayed"
    is_own_asked = any(one.queue == claim.queue.name and not one.is_ending for unit in taken for one in unit)
    if is_own_asked and (others := reclaiming.alone(claim)):
        return f"some of {sorted(victims)} are of its own queue, though {sorted(others)} would do"
    chosen = _fixed_choice(claim)
    return "" if chosen in (None, victims) else f"{sorted(victims)} go instead of {sorted(chosen or ())}"


def _could_stay(claim: Claim, onto: Onto, taken: Sequence[Unit], unit: Unit) -> bool:
    """Whether the others would do, for a workload that borrows no more then than it may at their cost.

    Beyond doubt: of unlike pods some way may lead to room, and not the one that is tried.
    """
    others = [one for one in taken if one is not unit]
    gone = {name for one in others for name in _names(one)}
    return claim.fits(onto, gone, surely=True) and _gives_back(claim, onto, others)


def _names(unit: Unit) -> frozenset[str]:
    return frozenset(one.name for one in unit)


def _queue(world: World, name: str) -> Queue:
    return next(one for one in world.queues if one.name == name)


# -- who may go ----------------------------------------------------------------------------------------------------


def may_go(claim: Claim, unit: Unit) -> bool:
    """Whether owners and queues of all let them go, and the policy of the preemptor's queue names one of them."""
    if _is_of_its_gang(claim, unit[0]):
        return False
    minutes = max(one.minutes for one in unit)
    return all(one.is_ending or _is_returned(claim.world, one, minutes) for one in unit) and any(
        _is_named(claim, one) for one in unit
    )


def _is_returned(world: World, one: Running, minutes: int) -> bool:
    """Whether owner and queue let a pod go; `minutes` are those that it, or the first of its gang, has run."""
    queue = next((queue for queue in world.queues if queue.name == one.queue), None)
    if queue is None:
        return False
    spares = queue.preemption.spares
    return (one.is_replaced or queue.gives_bare_pods) and (spares is None or minutes >= spares)


def _is_named(claim: Claim, one: Running, *, surely: bool = False) -> bool:
    """Whether the policy gives this pod; `surely`: of equals only who is younger beyond doubt."""
    policy, is_lower = claim.queue.preemption, one.priority < claim.priority
    if one.queue == claim.queue.name:
        ages = [pod.created for pod in claim.one.pods]
        is_younger = one.created > (max(ages) if surely else min(ages) - 1)
        is_equal = policy.within == "LowerOrNewerEqualPriority" and one.priority == claim.priority
        return policy.within != "Never" and (is_lower or (is_equal and is_younger))
    queue = next((queue for queue in claim.world.queues if queue.name == one.queue), None)
    if queue is None or path(claim.world, queue)[-1:] != path(claim.world, claim.queue)[-1:]:
        return False
    return policy.reclaim == "Any" or (policy.reclaim == "LowerPriority" and is_lower)


# -- at whose cost, in the tree --------------------------------------------------------------------------------------


def _gives_back(claim: Claim, onto: Onto, taken: Sequence[Unit]) -> bool:
    """Whether pods of other queues only give back what these borrowed, to one who may take that."""
    gone = {one.name for unit in taken for one in unit}
    foreign = [unit for unit in taken if unit[0].queue != claim.queue.name]
    if not foreign:
        return True
    # a gang of several flavors goes as a whole for one of them, and leaves something in the others
    every = list(product(dict(claim.queue.quotas), repeat=len(claim.one.sets)))
    ways = every if any(len({one.flavor for one in unit}) > 1 for unit in foreign) else [onto]
    return any(_give_back_onto(claim, way, gone, foreign) for way in ways)


def _give_back_onto(claim: Claim, onto: Onto, gone: Set[str], foreign: Sequence[Unit]) -> bool:
    # others may go before or after those of a queue
    by_queue = [[unit for unit in foreign if unit[0].queue == queue] for queue in {unit[0].queue for unit in foreign}]
    return all(_may_take(claim, onto, gone, one) for unit in foreign for one in unit) and all(
        _may_one_go_last(claim, onto, those) for those in (foreign, *by_queue)
    )


def _may_one_go_last(claim: Claim, onto: Onto, units: Sequence[Unit]) -> bool:
    """Whether one of these has something borrowed yet once the others are gone."""
    gone = frozenset[str]().union(*map(_names, units))
    return any(is_borrowed(claim, onto, gone - _names(unit), unit) for unit in units)


def is_borrowed(claim: Claim, onto: Onto, gone: Set[str], unit: Unit) -> bool:
    """Whether, before they go last, all queues above them that are not the preemptor's too use more than they own.

    That is asked of what is short: pods that have borrowed something else are in nobody's way. What those leave who end
    may be short or not.
    """
    shared = {queue.name for queue in path(claim.world, claim.queue)}
    placed = without(claim.placed, gone)
    readings = [shortages.short(claim, onto)]
    if claim.before is not None:
        readings.append(shortages.short(replace(claim, placed=claim.before), onto))
    columns = [[Column(claim.world, placed, *one) for one in short] for short in readings]
    if _is_fair(claim):  # of whatever it is: a share counts all
        columns = [list(fairness.columns(claim.world, placed, path(claim.world, claim.queue)[-1]))]
    above = [queue for queue in path(claim.world, _queue(claim.world, unit[0].queue)) if queue.name not in shared]
    return any(
        all(any(column.used(queue) > column.owned(queue) for column in those) for queue in above) for those in columns
    )


def _may_take(claim: Claim, onto: Onto, gone: Set[str], one: Running) -> bool:
    """Whether its queue stays within its quota, or one above that is not the victim's; or may borrow at such cost."""
    threshold = claim.queue.preemption.threshold
    if _is_fair(claim):
        return _may_take_by_share(claim, onto, gone, one)
    if threshold is not None and one.priority < claim.priority and one.priority <= threshold:
        return True
    after = (*without(claim.placed, gone), *taken(claim, onto))
    above = {queue.name for queue in path(claim.world, _queue(claim.world, one.queue))}
    # of nodes it is not said which of what is short there that is asked of
    readings = [shortages.short(claim, onto), shortages.scarce(claim, onto)]
    return any(
        all(column.used(queue) <= column.owned(queue) for column in columns)
        for queue in path(claim.world, claim.queue)
        if queue.name not in above
        for columns in [[Column(claim.world, after, *one) for one in short] for short in readings]
    )


def _is_fair(claim: Claim) -> bool:
    return any(one.is_fair for one in path(claim.world, claim.queue)[-1:])


def taken(claim: Claim, onto: Onto) -> list[Placed]:
    """What the workload takes of quota in these flavors."""
    name = claim.queue.name
    sets = zip(claim.one.sets, onto, strict=True)
    return [Placed(rules.demand(make.requests, len(pods)), name, flavor, None) for (make, pods), flavor in sets]


def _may_take_by_share(claim: Claim, onto: Onto, gone: Set[str], one: Running) -> bool:
    """Whether its queue stays within its own, or, in the best case, has no larger share than the victim's had.

    The shares are those right below the queue that is above both. In the best case all have gone that might for it in
    its own part of the tree: who is given back in the end was away when the shares were compared.
    """
    world = claim.world
    mine, theirs = path(world, claim.queue), path(world, _queue(world, one.queue))
    above = next(queue for queue in mine if queue in theirs)
    if above in (mine[0], theirs[0]):
        return True  # one of them takes pods and has queues below it: nothing is said of these
    my, their = mine[mine.index(above) - 1], theirs[theirs.index(above) - 1]
    near = {queue.name for queue in everyone(world, my)}
    others = {name for unit in claim.units() if unit[0].queue in near and may_go(claim, unit) for name in _names(unit)}
    after = (*without(claim.placed, gone | others), *taken(claim, onto))
    columns = [Column(world, after, *one) for one in shortages.short(claim, onto)]
    return all(column.used(claim.queue) <= column.owned(claim.queue) for column in columns) or (
        fairness.share(world, after, above, my) <= fairness.share(world, claim.placed, above, their)
    )


# -- what is certain -----------------------------------------------------------------------------------------------


def is_certain(claim: Claim) -> bool:
    """Whether the workload preempts whatever the search chooses: pods of its own queue that may go are enough.

    Not so where those who go for others are: it may wait for these. Nor where who goes closes a mix: the search takes
    away one after the other, and does not look for fewer.
    """
    if claim.queue.is_mixed or claim.flavors(frozenset()):
        return False
    return bool(reclaiming.alone(claim)) or any(
        claim.fits(onto, {name for unit in _own(claim, {*onto}) for name in _names(unit)}, surely=True)
        for onto in product(dict(claim.queue.quotas), repeat=len(claim.one.sets))
    )


def is_possible(claim: Claim) -> bool:
    """Whether the workload might preempt somebody, or wait for those who go anyway."""
    going = {one.name for unit in claim.units() for one in unit if not one.is_ending}
    return any(not fault(claim, set(victims)) for victims in _parts(going))


def _own(claim: Claim, flavors: Set[str]) -> list[Unit]:
    return [
        unit
        for unit in claim.units()
        if all(
            one.queue == claim.queue.name and one.flavor in flavors and _is_named(claim, one, surely=True)
            for one in unit
        )
        and may_go(claim, unit)
    ]


def _fixed_choice(claim: Claim) -> Set[str] | None:
    """Whom the search takes where only pods of its queue may go: lower priorities first, of these the latest.

    None: the documents leave it open, as for gangs.
    """
    policy = claim.queue.preemption
    if claim.queue.is_any or any(queue.limits for queue in path(claim.world, claim.queue)):
        return None
    # it may wait for those who go for others, in whichever flavor
    if claim.flavors(frozenset()) or any(one.is_ending for unit in claim.units() for one in unit):
        return None
    if policy.reclaim != "Never" or len(claim.one.pods) > 1 or any(len(unit) > 1 for unit in claim.units()):
        return None
    if policy.within == "LowerOrNewerEqualPriority" and any(
        one.created == claim.one.pods[0].created for unit in claim.units() for one in unit
    ):
        return None
    # nobody is asked to go in a flavor that would never take it; a mix may always come to
    percent = 0 if claim.queue.spot_percent == 0 else None
    empty = replace(claim, placed=(), queue=replace(claim.queue, spot_percent=percent, on_demand_base=None))
    for flavor in (name for name, _ in claim.queue.quotas if empty.fits((name,), frozenset())):
        own = (one for unit in _own(claim, {flavor}) for one in unit)
        candidates = sorted(own, key=lambda one: (one.priority, one.minutes))
        gone: list[str] = []
        for one in candidates:
            # on the way to one flavor it may come to fit another
            if claim.flavors({*gone}):
                break
            gone.append(one.name)
        if claim.flavors({*gone}):
            for name in reversed(gone):
                gone = [other for other in gone if other != name] if claim.flavors({*gone} - {name}) else gone
            return {*gone}
    return None
