"""Thousands of different pods of one user: a decision tells of a few of them, so that nobody else waits for it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import inf
from typing import Any

import pytest

from controller.cache.cluster import ClusterCache
from controller.cache.queue.asked import PORTION
from controller.core.decision.decide import decide
from controller.core.queueing.preemption_policy import Preemption, Within
from controller.core.queueing.queues import QueueingStrategy
from controller.core.workloads.decisions import Plan
from controller.core.workloads.pods import Pod
from tests.support.builders import (
    MAIN,
    STRICT,
    a_cache,
    a_cluster_queue,
    a_flavor,
    a_local_queue,
    a_node,
    a_pod,
    a_quota,
    a_released_pod,
    a_shape,
    admitted,
    decided,
    waiting,
)
from tests.support.loop_work import work_of
from tests.support.snapshots import changed

NOW = 10_000.0
IN_VAIN = 16
"""So many looks in vain in a row before all is tested again."""
DOORS = [a_local_queue("main", "team-a"), a_local_queue("other", "team-b")]


def a_flood(count: int) -> list[Pod]:
    """Pods of which none is like another and only the first has enough in 1 cpu."""
    return [a_pod(f"p{n:04}", a_shape(cpu=f"{1000 + n}m"), created=float(n)) for n in range(count)]


def a_flooded_cache(count: int, *, woken: list[bool] | None = None, quota: str = "1", **fields: object) -> ClusterCache:
    queues = [a_cluster_queue("team-a", a_quota(cpu=quota), **fields), a_cluster_queue("team-b", a_quota(cpu="8"))]
    # in no order: the apiserver lists by names
    return a_cache(
        *reversed(a_flood(count)),
        nodes=[a_node(cpu="64", pods="5000")],
        queues=queues,
        locals_=DOORS,
        on_change=(lambda: None) if woken is None else (lambda: woken.append(True)),
    )


def until_at_rest(cache: ClusterCache, woken: list[bool], now: float = NOW) -> list[Plan]:
    """Decide as the loop does, as often as anything wakes it; stop where that would be for ever."""
    plans: list[Plan] = []
    while len(plans) < 200:
        woken.clear()
        cache.advance(now)
        plans.append(decided(cache, limit=100))
        if not woken and plans[-1].is_complete:
            now = max(now, cache.next_portion())
            if now == inf:
                break
    return plans


def reasons(cache: ClusterCache) -> dict[str, int]:
    told: dict[str, int] = {}
    for kind, run in cache.backlog.runs.items():
        reason = cache.reasons.of(kind).reason.value
        told[reason] = told.get(reason, 0) + len(run)
    return told


def a_decision_of_the_loop(cache: ClusterCache) -> Plan:
    """Decide as the loop does, once what can be done in parts is."""
    cache.advance(NOW)
    return decided(cache, limit=100)


def caught_up(cache: ClusterCache) -> ClusterCache:
    for _ in cache.catch_up(NOW):
        pass
    return cache


def test_the_first_in_order_goes_first_and_all_are_told() -> None:
    woken: list[bool] = []
    cache = a_flooded_cache(300, woken=woken)
    plans = until_at_rest(cache, woken)
    assert list(admitted(plans[0])) == ["p0000"]
    assert max(len(plan.waits) for plan in plans) <= PORTION
    assert reasons(cache) == {"NeverFits": 299}


def test_a_decision_looks_at_no_more_in_a_larger_flood() -> None:
    counted = []
    for count in (200, 800):
        cache = caught_up(a_flooded_cache(count))
        counted.append([work_of(partial(a_decision_of_the_loop, cache)) for _ in range(4)])
    assert max(counted[1]) <= 1.1 * max(counted[0])


def test_another_users_pod_is_admitted_in_the_next_decision() -> None:
    costs = []
    for count in (2, 800):
        cache = a_flooded_cache(count)
        cache.put_pod(a_pod("other", queue="other", created=9_000.0))
        caught_up(cache)
        plans = list[Plan]()
        costs.append(work_of(lambda plans=plans, cache=cache: plans.append(a_decision_of_the_loop(cache))))  # type: ignore[misc]
        assert "other" in admitted(plans[0])


@pytest.mark.parametrize(
    "happens",
    [
        lambda cache: None,
        lambda cache: cache.reopen_all(),
        lambda cache: cache.set_local_queue(MAIN, a_local_queue("main", "team-a")),
        lambda cache: cache.put_node(a_node("n2", cpu="1")),
        lambda cache: cache.set_cluster_queue("team-a", a_cluster_queue("team-a", a_quota(cpu="2"))),
        lambda cache: cache.set_flavor("spot", a_flavor("spot")),
        lambda cache: cache.drop_pod("p0000"),
        lambda cache: cache.advance(20_000.0),
    ],
)
def test_no_part_of_what_follows_an_event_grows(happens: Callable[[ClusterCache], None]) -> None:
    longest = []
    for count in (300, 1200):
        woken: list[bool] = []
        cache = a_flooded_cache(count, woken=woken)
        until_at_rest(cache, woken)
        costs = [work_of(partial(happens, cache))]
        parts = cache.catch_up(20_001.0)
        while True:
            ended: list[bool] = []
            costs.append(work_of(lambda parts=parts, ended=ended: ended.append(next(parts, True) is True)))  # type: ignore[misc]
            if ended == [True]:
                break
        costs.append(work_of(partial(a_decision_of_the_loop, cache)))
        longest.append(max(costs))
    assert longest[1] <= 1.2 * longest[0]


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"strategy": STRICT},
        {"strategy": QueueingStrategy.BACKFILL},
        {"preemption": Preemption(Within.LOWER_PRIORITY)},
    ],
)
@pytest.mark.parametrize("is_full", [False, True])
def test_a_pod_beside_a_flood_costs_the_same(
    fields: dict[str, Any], *, is_full: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("controller.cache.index.kept_index.WINDOW", 100)
    costs = []
    for count in (300, 1200):
        woken: list[bool] = []
        nodes = [a_node(cpu="900m"), a_node("n2", cpu="32", pods="1")] if is_full else [a_node(cpu="64", pods="5000")]
        queues = [
            a_cluster_queue("team-a", a_quota(cpu="100" if is_full else "1"), **fields),
            a_cluster_queue("team-b", a_quota(cpu="8")),
        ]
        cache = a_cache(
            *a_flood(count), nodes=nodes, queues=queues, locals_=DOORS, on_change=partial(woken.append, True)
        )
        until_at_rest(cache, woken)
        cache.put_pod(a_pod("other", a_shape(cpu="1m"), queue="other", created=9_000.0))
        comes = work_of(partial(a_decision_of_the_loop, caught_up(cache)))
        here = {"cluster_queue": "team-b", "node": "node-1", "admitted_at": NOW}
        cache.put_pod(a_released_pod("other", a_shape(cpu="1m"), queue="other", **here))
        until_at_rest(cache, woken)
        ends = work_of(partial(cache.drop_pod, "other"))
        costs.append((comes, ends, work_of(partial(a_decision_of_the_loop, caught_up(cache)))))
    assert all(more <= 1.25 * less for less, more in zip(*costs, strict=True)), costs


def test_a_pod_with_a_better_place_is_the_first_of_many() -> None:
    woken: list[bool] = []
    cache = a_flooded_cache(300, woken=woken, strategy=STRICT)
    decided(cache)
    cache.settle("p0000")
    cache.put_pod(a_pod("p0000", a_shape(cpu="9"), created=9_999.0, resource_version="2"))
    cache.put_pod(a_pod("urgent", a_shape(cpu="500m"), priority=5, created=9_000.0))
    assert list(admitted(decided(cache))) == ["urgent"]


def test_all_behind_the_head_of_a_strict_queue_are_told() -> None:
    woken: list[bool] = []
    cache = a_flooded_cache(200, woken=woken, quota="2", strategy=STRICT)
    until_at_rest(cache, woken)
    told = reasons(cache)
    assert (told["QuotaExceeded"], told["Priority"]) == (1, 198)


def test_a_class_behind_the_window_is_admitted_in_its_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """It costs no row, and the round over all reaches it."""
    monkeypatch.setattr("controller.cache.index.kept_index.WINDOW", 50)
    woken: list[bool] = []
    cache = a_flooded_cache(200, woken=woken, quota="0")
    cache.put_pod(a_pod("last", a_shape(cpu="1"), created=9_000.0))
    until_at_rest(cache, woken)
    cache.set_cluster_queue("team-a", a_cluster_queue("team-a", a_quota(cpu="1")))
    found = until_at_rest(cache, woken)
    assert {uid for plan in found for uid in admitted(plan)} == {"p0000"}
    cache.drop_pod("p0000")
    found = until_at_rest(cache, woken)
    assert {uid for plan in found for uid in admitted(plan)} == {"last"}


def test_local_queues_take_turns_at_being_told() -> None:
    cache = a_flooded_cache(300)
    cache.put_pod(a_pod("other", a_shape(cpu="9"), queue="other", created=9_000.0))
    assert "other/9000" in waiting(decided(cache))


@pytest.mark.parametrize("quota", ["1", "3500m"])
@pytest.mark.parametrize("count", [500, 1_900])
def test_classes_that_cannot_fit_are_not_looked_at(count: int, quota: str) -> None:
    cache = a_flooded_cache(count, quota=quota)
    cache.advance(NOW)
    plan = decide(changed(cache.snapshot(), asked=()), index=cache.feasibility, limit=1_000)
    assert [one.uid for one in plan.admits] == (["p0000"] if quota == "1" else ["p0000", "p0001", "p0002"])
    assert len(plan.waits) <= IN_VAIN


@pytest.mark.parametrize("count", [500, 1_900])
def test_classes_without_room_any_more_are_not_looked_at(count: int) -> None:
    queue, nodes = a_cluster_queue("team-a", a_quota(cpu="64")), [a_node(cpu="3500m", pods="5000")]
    cache = a_cache(*a_flood(count), nodes=nodes, queues=[queue], locals_=[a_local_queue("main", "team-a")])
    plan = decide(changed(cache.snapshot(), asked=()), index=cache.feasibility, limit=1_000)
    assert [one.uid for one in plan.admits] == ["p0000", "p0001", "p0002"]
    assert len(plan.waits) <= IN_VAIN
