"""Shares that are kept, from one decision to the next and while one is made, are those that are worked out anew."""

from __future__ import annotations

from random import Random

import pytest

from controller.core.candidates.candidate import Candidate
from controller.core.preemption.fair_preempting import FairVictims
from controller.core.queueing.fair_sharing_policy import FairSharing
from controller.core.quota.fair_sharing import Demand, FairShares, KnownShares
from controller.core.quota.quota_tree import QuotaTree
from controller.core.quota.tree_usage import TreeUsage
from tests.property.decisions.test_surplus import draw
from tests.support.builders import a_cluster_queue, a_tree_quota
from tests.support.seeds import seeds

_TEAMS = tuple(f"team-{number}" for number in range(4))
_NAMES = ("org", "part", *_TEAMS)


def said(tree: QuotaTree, shares: FairShares) -> list[object]:
    """All that shares say of a tree."""
    demands = [Demand(team, (((flavor, "cpu"), 2),)) for team in _TEAMS for flavor in ("spot", "steady")]
    return [
        [shares.kept(name) for name in _NAMES],
        [list(shares.ranked(name)) for name in ("org", "part")],
        [shares.asking(name, demand) for demand in demands for name in tree.path(demand.queue)],
        [set(shares.borrowers("org", flavor)) for flavor in ("spot", "steady")],
        [set(shares.parts("org", flavor)) for flavor in ("spot", "steady")],
    ]


def a_candidate(queue: str) -> Candidate:
    return Candidate(queue, queue, (), (), 0, 0.0, 0.0, frozenset(), {})


def use(chance: Random, tree: QuotaTree, usage: TreeUsage) -> str:
    """Let a team use more or less of something; say which."""
    team = chance.choice(_TEAMS)
    flavor, resource = chance.choice(sorted(tree.cells(team)))
    usage.add(team, flavor, resource, chance.randint(-min(4, usage.used(team, flavor, resource)), 4))
    return team


def where_borrowed(tree: QuotaTree, usage: TreeUsage, flavor: str) -> set[str]:
    """The queues that use more of a flavor than is their own, and all above them."""
    borrowers = [
        name for name in _NAMES if any(usage.beyond(name, one) > 0 for one in tree.columns("org") if one[0] == flavor)
    ]
    return {above for name in borrowers for above in tree.path(name)}


@pytest.mark.parametrize("number", seeds(20))
def test_what_is_kept_is_what_is_worked_out_anew(number: int) -> None:
    chance = Random(number)  # noqa: S311 - cases, not secrets
    tree, counted = draw(chance)
    known = KnownShares()
    for _ in range(4):
        base, usage = known.of(tree, counted), TreeUsage(tree, counted)
        shares = FairShares(tree, usage, base)
        for _ in range(4):
            assert said(tree, shares) == said(tree, FairShares(tree, usage))
            shares.forget([use(chance, tree, usage)])
            for flavor in ("spot", "steady"):
                assert shares.parts("org", flavor) == where_borrowed(tree, usage, flavor)
        assert said(tree, base) == said(tree, FairShares(tree, counted))
        known.forget([use(chance, tree, counted), use(chance, tree, counted)])


def test_shares_of_another_count_are_not_those_of_the_former() -> None:
    tree, counted = draw(Random(1))  # noqa: S311 - cases, not secrets
    known = KnownShares()
    said(tree, known.of(tree, counted))
    other, used = draw(Random(2))  # noqa: S311 - cases, not secrets
    assert said(other, known.of(other, used)) == said(other, FairShares(other, used))


def test_what_a_tree_keeps_is_known_before_any_removal() -> None:
    chance = Random(3)  # noqa: S311 - cases, not secrets
    tree, usage = draw(chance)
    shares = FairShares(tree, usage)
    before = said(tree, FairShares(tree, usage))
    for flavor in ("spot", "steady"):
        for team in _TEAMS:
            shares.keep(team, flavor)
    parts = where_borrowed(tree, usage, "spot")
    for team in _TEAMS:
        for flavor, resource in tree.cells(team):
            usage.add(team, flavor, resource, -usage.used(team, flavor, resource))
    assert parts
    assert not where_borrowed(tree, usage, "spot")
    assert shares.parts("org", "spot") == parts
    assert [list(shares.ranked(name)) for name in ("org", "part")] == before[1]


@pytest.mark.parametrize("number", seeds(40))
def test_larger_shares_are_the_same_asked_one_by_one(
    number: int,
) -> None:
    chance = Random(number)  # noqa: S311 - cases, not secrets
    tree, usage = draw(chance)
    team, flavor = chance.choice(_TEAMS), chance.choice(("spot", "steady"))
    demand, shares = Demand(team, (((flavor, "cpu"), chance.randint(1, 4)),)), FairShares(tree, usage)
    shares.keep(team, flavor)

    asked, gone = FairVictims(tree, usage, shares, demand, dict(demand.amounts), 0.0, lambda _: {}), list[Candidate]()
    for _ in range(12):
        gone.append(a_candidate(use(chance, tree, usage)))
        asked.note_gone(gone[-1])
        anew = FairVictims(tree, usage, shares, demand, dict(demand.amounts), 0.0, lambda _: {})
        for one in gone:
            anew.note_gone(one)
        assert asked.has_larger_shares() == anew.has_larger_shares()


def test_a_demand_adds_less_once_its_queue_has_more_left() -> None:
    queues = [
        a_cluster_queue("org", a_tree_quota("spot", 100), fair_sharing=FairSharing()),
        a_cluster_queue("part", a_tree_quota("spot", 0), parent="org"),
        a_cluster_queue("own", a_tree_quota("spot", 4, lend=0), parent="part"),
        a_cluster_queue("beside", a_tree_quota("spot", 0), parent="part"),
        a_cluster_queue("other", a_tree_quota("spot", 0), parent="org"),
    ]
    tree = QuotaTree({one.name: one for one in queues})
    usage = TreeUsage(tree)
    usage.add("own", "spot", "cpu", 5)
    usage.add("other", "spot", "cpu", 3)
    demand = Demand("own", ((("spot", "cpu"), 3),))
    victims = FairVictims(tree, usage, FairShares(tree, usage), demand, dict(demand.amounts), 0.0, lambda _: {})
    victims.note_gone(a_candidate("beside"))
    assert not victims.has_larger_shares()  # the part would borrow 1 + 3, the other queue borrows 3
    usage.add("own", "spot", "cpu", -2)
    victims.note_gone(a_candidate("own"))
    assert victims.has_larger_shares()  # 0 + 2: one of the three is its own
