"""Shares that are kept, from one decision to the next and while one is made, are those that are worked out anew."""

from __future__ import annotations

from random import Random

import pytest

from controller.core.fair_sharing import Demand, FairShares, KnownShares
from controller.core.quota_tree import QuotaTree
from controller.core.tree_usage import TreeUsage
from tests.property.test_surplus import draw

_TEAMS = tuple(f"team-{number}" for number in range(4))
_NAMES = ("org", "part", *_TEAMS)


def said(tree: QuotaTree, shares: FairShares) -> list[object]:
    """All that shares say of a tree."""
    demands = [Demand(team, flavor, (("cpu", 2),)) for team in _TEAMS for flavor in ("spot", "steady")]
    return [
        [shares.kept(name) for name in _NAMES],
        [list(shares.ranked(name)) for name in ("org", "part")],
        [shares.asking(name, demand) for demand in demands for name in tree.path(demand.queue)],
        [set(shares.borrowers("org", flavor)) for flavor in ("spot", "steady")],
        [set(shares.parts("org", flavor)) for flavor in ("spot", "steady")],
    ]


def use(chance: Random, tree: QuotaTree, usage: TreeUsage) -> str:
    """Let a team use more or less of something; say which."""
    team = chance.choice(_TEAMS)
    flavor, resource = chance.choice(sorted(tree.cells(team)))
    usage.add(team, flavor, resource, chance.randint(-min(4, usage.used(team, flavor, resource)), 4))
    return team


@pytest.mark.parametrize("number", range(40))
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
        assert said(tree, base) == said(tree, FairShares(tree, counted))
        known.forget([use(chance, tree, counted), use(chance, tree, counted)])


def test_shares_of_another_count_are_not_those_of_the_former() -> None:
    tree, counted = draw(Random(1))  # noqa: S311 - cases, not secrets
    known = KnownShares()
    said(tree, known.of(tree, counted))
    other, used = draw(Random(2))  # noqa: S311 - cases, not secrets
    assert said(other, known.of(other, used)) == said(other, FairShares(other, used))
