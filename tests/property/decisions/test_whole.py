"""The decision that remembers nothing plans what today's plans that is told to forget."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from controller.core.decision.decide import decide
from controller.core.decision.whole import decide_whole
from controller.core.feasibility.feasible import index_of
from controller.core.workloads.decisions import Plan
from controller.core.world.snapshot import Snapshot
from controller.replay.snapshot_file import without_memory
from tests.bench.rules import RULES
from tests.bench.worlds import Recipe, draw, load
from tests.property.decisions.test_feasibility import a_snapshot_of
from tests.support.builders import a_cache, a_cluster_queue, a_local_queue, a_node, a_quota
from tests.unit.decisions.test_many_classes import a_flood, a_flooded_cache

_BATCHES, _BATCH = 5, 60
_NO_LIMIT = 10**9
MOST_IN_VAIN = 16
"""So many looks in vain in a row before all is tested again."""


def planned(plan: Plan) -> tuple[Any, ...]:
    """All that is done by a plan."""
    return plan.admits, plan.evicts, dict(plan.preemptors), dict(plan.held), plan.is_complete


def hold_to_each_other(snapshot: Snapshot) -> Plan:
    today = decide(without_memory(snapshot), limit=_NO_LIMIT)
    whole = decide_whole(without_memory(snapshot), index_of(snapshot), limit=_NO_LIMIT)
    assert planned(whole) == planned(today)
    assert {kind: today.waits.get(kind) for kind in whole.waits} == whole.waits
    return whole


@pytest.mark.parametrize("number", range(_BATCHES))
def test_small_worlds_are_decided_alike(number: int) -> None:
    chance = Random(f"whole/{number}")  # noqa: S311 - cases, not secrets
    plans = [hold_to_each_other(a_snapshot_of(chance)) for _ in range(_BATCH)]
    assert any(plan.admits for plan in plans)
    assert any(plan.preemptors for plan in plans)


@pytest.mark.parametrize("rules", [(), ("fair",), ("preempt",), ("backfill",), tuple(RULES)], ids=" ".join)
@pytest.mark.parametrize("recipe", [Recipe(scale=0.02), Recipe(scale=0.02, shapes=600, quota=5.0, room=0.3)], ids=str)
def test_large_worlds_are_decided_alike(recipe: Recipe, rules: tuple[str, ...]) -> None:
    world, chance = draw(recipe), Random(1)  # noqa: S311
    for name in rules:
        RULES[name](world, chance)
    assert hold_to_each_other(load(world, lambda: None).snapshot()).admits


@pytest.mark.parametrize("quota", ["1", "3500m"])
@pytest.mark.parametrize("count", [500, 2_000])
def test_classes_that_cannot_fit_are_not_looked_at(count: int, quota: str) -> None:
    cache = a_flooded_cache(count, quota=quota)
    cache.pass_to(10_000.0)
    snapshot = without_memory(cache.snapshot())
    plan = decide_whole(snapshot, index_of(snapshot), limit=_NO_LIMIT)
    assert [one.uid for one in plan.admits] == (["p0000"] if quota == "1" else ["p0000", "p0001", "p0002"])
    assert len(plan.waits) <= MOST_IN_VAIN


@pytest.mark.parametrize("count", [500, 2_000])
def test_classes_that_have_no_room_any_more_are_not_looked_at(count: int) -> None:
    queue, nodes = a_cluster_queue("team-a", a_quota(cpu="64")), [a_node(cpu="3500m", pods="5000")]
    cache = a_cache(*a_flood(count), nodes=nodes, queues=[queue], locals_=[a_local_queue("main", "team-a")])
    snapshot = without_memory(cache.snapshot())
    plan = decide_whole(snapshot, index_of(snapshot), limit=_NO_LIMIT)
    assert [one.uid for one in plan.admits] == ["p0000", "p0001", "p0002"]
    assert len(plan.waits) <= MOST_IN_VAIN
