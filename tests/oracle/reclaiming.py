"""Whom a workload that stays within its queue's own quota takes back what others borrowed from, and from nobody else.

Where that is enough in any flavor, nobody of its own queue goes (docs/preemption.md).
"""

from __future__ import annotations

from collections.abc import Set
from typing import TYPE_CHECKING

from tests.oracle import preempting, shortages
from tests.oracle.tree import Column, path

if TYPE_CHECKING:
    from tests.oracle.preempting import Claim, Onto


def alone(claim: Claim) -> Set[str]:
    """Return those of other queues who are enough, in their order; empty: they are not, or it is not certain."""
    queue, world = claim.queue, claim.world
    is_plain = len(claim.one.sets) == 1 and not (queue.is_mixed or queue.is_any or queue.preemption.reclaim == "Never")
    way = path(world, queue)
    if not is_plain or any(one.is_fair or one.limits for one in way):
        return frozenset()
    if any(one.is_ending for one in world.running) or any(len(unit) > 1 for unit in claim.units()):
        return frozenset()
    found = (_in_flavor(claim, (flavor,)) for flavor, _ in queue.quotas)
    return next((one for one in found if one), frozenset())


def _in_flavor(claim: Claim, onto: Onto) -> Set[str]:
    if claim.fits(onto, frozenset()) or shortages.is_by_room(claim, onto) or not _is_within(claim, onto):
        return frozenset()
    short = shortages.short(claim, onto)
    units = [unit for unit in claim.units() if unit[0].queue != claim.queue.name and unit[0].flavor == onto[0]]
    quotas = {one.name: dict(one.quotas).get(onto[0], {}) for one in claim.world.queues}
    if any(resource not in quotas[unit[0].queue] for unit in units for _, resource in short):
        return frozenset()  # whether a queue borrows that has no quota at all of it is not said
    gone: set[str] = set()
    for unit in sorted(units, key=lambda unit: (unit[0].priority, unit[0].minutes)):
        one = unit[0]
        uses = any((one.flavor, resource) in short for resource, amount in one.requests.items() if amount)
        if uses and preempting.may_go(claim, unit) and preempting.is_borrowed(claim, onto, gone, unit):
            gone.add(one.name)
            if claim.fits(onto, gone, surely=True):
                return gone
    return frozenset()


def _is_within(claim: Claim, onto: Onto) -> bool:
    after = (*claim.placed, *preempting.taken(claim, onto))
    columns = [Column(claim.world, after, *one) for one in shortages.short(claim, onto)]
    return all(column.used(claim.queue) <= column.owned(claim.queue) for column in columns)
