"""What a workload that preempts is short of, by flavor and resource (docs/preemption.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.oracle import rules
from tests.oracle.tree import Column, limit_faults, path
from tests.oracle.worlds import Flavor

if TYPE_CHECKING:
    from tests.oracle.preempting import Claim, Onto

Short = frozenset[tuple[str, str]]


def short(claim: Claim, onto: Onto) -> Short:
    """Return of what quota, a limit or a sum is too little; where a node's room may be, all that is asked for there."""
    asked = needs(claim, onto)
    if claim.queue.is_mixed or any(one.limits for one in path(claim.world, claim.queue)):
        return frozenset(asked)
    crowded = {flavor for flavor in onto if _is_crowded(claim, onto, flavor)}
    return _of_quota(claim, onto) | _of_sums(claim, onto) | {one for one in asked if one[0] in crowded} or frozenset(
        asked
    )


def scarce(claim: Claim, onto: Onto) -> Short:
    """The same, but of limits that which they leave too little of, and of nodes that of which none has enough."""
    found = set(_of_quota(claim, onto) | _of_sums(claim, onto) | _of_limits(claim, onto))
    for (make, _), name in zip(claim.one.sets, onto, strict=True):
        flavor = _flavor(claim, name)
        nodes = [] if flavor.static is not None else rules.open_nodes(claim.world, flavor, make)
        for resource, need in rules.demand(make.requests).items():
            free = [
                node.amounts.get(resource, 0)
                - sum(one.requests.get(resource, 0) for one in claim.placed if one.node == node.name)
                for node in nodes
            ]
            if free and max(free) < need:
                found.add((name, resource))
    return frozenset(found) or short(claim, onto)


def needs(claim: Claim, onto: Onto) -> dict[tuple[str, str], int]:
    """Return what the workload takes of each flavor."""
    found: dict[tuple[str, str], int] = {}
    for (make, pods), flavor in zip(claim.one.sets, onto, strict=True):
        for resource, need in rules.demand(make.requests, len(pods)).items():
            found[flavor, resource] = found.get((flavor, resource), 0) + need
    return found


def is_by_room(claim: Claim, onto: Onto) -> bool:
    """Whether the nodes, or the sums, of these flavors have too little."""
    return bool(_of_sums(claim, onto)) or any(_is_crowded(claim, onto, flavor) for flavor in onto)


def _of_quota(claim: Claim, onto: Onto) -> Short:
    quotas, world = dict(claim.queue.quotas), claim.world
    return frozenset(
        (flavor, resource)
        for (flavor, resource), need in needs(claim, onto).items()
        if resource in quotas[flavor] and need > Column(world, claim.placed, flavor, resource).left(claim.queue)
    )


def _of_limits(claim: Claim, onto: Onto) -> Short:
    """Of which the limits of a queue on the way leave too little, of whichever flavor."""
    asked = needs(claim, onto)
    found = set()
    for resource in {resource for _, resource in asked}:
        total = {resource: sum(need for (_, one), need in asked.items() if one == resource)}
        if limit_faults(claim.world, claim.placed, claim.queue, total):
            found |= {column for column in asked if column[1] == resource}
    return frozenset(found)


def _of_sums(claim: Claim, onto: Onto) -> Short:
    """Of which sums of Static flavors leave too little."""
    found = set()
    for (name, resource), need in needs(claim, onto).items():
        total = _flavor(claim, name).static or {}
        taken = sum(one.requests.get(resource, 0) for one in claim.placed if one.flavor == name)
        if resource in total and need + taken > total[resource]:
            found.add((name, resource))
    return frozenset(found)


def _is_crowded(claim: Claim, onto: Onto, name: str) -> bool:
    sets = [(make, pods) for (make, pods), flavor in zip(claim.one.sets, onto, strict=True) if flavor == name]
    flavor = _flavor(claim, name)
    if flavor.static is not None or len(sets) > 1:
        return flavor.static is None
    return any(rules.node_faults(claim.world, claim.placed, flavor, make, len(pods)) for make, pods in sets)


def _flavor(claim: Claim, name: str) -> Flavor:
    return next(one for one in claim.world.flavors if one.name == name)
