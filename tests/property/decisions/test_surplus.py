"""What a queue may give up by `Surplus` is what its share, worked out without that, says."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import pytest

from controller.core.queueing.fair_sharing_policy import ONE_THOUSANDTH, FairSharing, Share, share_of
from controller.core.queueing.queues import ClusterQueue, FlavorQuota
from controller.core.quota.fair_sharing import NOTHING, FairShares
from controller.core.quota.quota_tree import Column, QuotaTree
from controller.core.quota.tree_usage import TreeUsage
from tests.support.builders import a_cluster_queue
from tests.support.seeds import seeds

_FLAVORS, _RESOURCES = ("spot", "steady"), ("cpu", "memory")
_WEIGHTS = (Fraction(0), Fraction(1, 2), Fraction(1), Fraction(1), Fraction(3))
_TEAMS = tuple(f"team-{number}" for number in range(4))


def a_queue(chance: Random, name: str, parent: str = "") -> ClusterQueue:
    quotas = []
    for flavor in chance.sample(_FLAVORS, chance.randint(1, 2)):
        nominal = {resource: chance.randint(0, 6) for resource in chance.sample(_RESOURCES, chance.randint(1, 2))}
        lending = {resource: chance.randint(0, most) for resource, most in nominal.items() if chance.random() < 0.3}
        quotas.append(FlavorQuota(flavor, nominal, lending=lending if parent else {}))
    return a_cluster_queue(name, *quotas, parent=parent, fair_sharing=FairSharing(chance.choice(_WEIGHTS)))


def draw(chance: Random) -> tuple[QuotaTree, TreeUsage]:
    """A root, a part of it with two teams, and two teams beside; each uses something."""
    parents = dict(zip(_TEAMS, ("part", "part", "org", "org"), strict=True))
    queues = [a_queue(chance, "org"), a_queue(chance, "part", "org")]
    queues += [a_queue(chance, name, parent) for name, parent in parents.items()]
    tree = QuotaTree({one.name: one for one in queues})
    usage = TreeUsage(tree)
    for name in _TEAMS:
        for flavor, resource in tree.cells(name):
            usage.add(name, flavor, resource, chance.randint(0, 9))
    return tree, usage


def given_up(chance: Random, tree: QuotaTree, usage: TreeUsage, giver: str) -> dict[Column, int]:
    """Part of what a team uses."""
    used = {column: usage.used(giver, *column) for column in tree.cells(giver)}
    return {column: chance.randint(0, most) for column, most in used.items() if most and chance.random() < 0.8}


def a_floor(chance: Random, shares: FairShares, queue: str) -> Share:
    """The share of any queue, or one near that of this one; by weight 0 it is infinite."""
    near = shares.of(queue)
    other = Fraction(near.exact, ONE_THOUSANDTH).limit_denominator(10**6) * Fraction(chance.randint(0, 12), 10)
    drawn = chance.choice((near, shares.of(chance.choice(_TEAMS)), share_of(other.numerator, other.denominator)))
    return drawn._replace(is_infinite=True) if chance.random() < 0.1 and drawn != NOTHING else drawn


@pytest.mark.parametrize("number", seeds(10))
def test_what_is_covered_leaves_no_smaller_share(number: int) -> None:
    chance = Random(number)  # noqa: S311 - cases, not secrets
    told = set()
    for _ in range(100):
        tree, usage = draw(chance)
        shares, giver = FairShares(tree, usage), chance.choice(_TEAMS)
        queue = chance.choice(tree.path(giver)[:-1])
        held, floor = given_up(chance, tree, usage, giver), a_floor(chance, shares, queue)
        is_covered = shares.surplus(queue, giver, floor).covers(held)
        for (flavor, resource), amount in held.items():
            usage.add(giver, flavor, resource, -amount)
        then = FairShares(tree, usage).of(queue)
        assert is_covered == (then >= floor), (queue, giver, held, floor, then)
        told.add(is_covered)
    assert told == {True, False}
