"""Thousands of different pods of one user: a decision looks at a few of them, so that nobody else waits for it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from controller.cache.cluster import ClusterCache
from controller.core.queueing.preemption_policy import Preemption, Within
from controller.core.queueing.queues import QueueingStrategy
from controller.core.workloads.decisions import Plan
from controller.core.workloads.pods import Pod
from controller.core.world.pending import Pending
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
    a_workload,
    admitted,
    decided,
)
from tests.support.loop_work import work_of

MOST = 128
"""As docs/decision.md says."""
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


def until_at_rest(cache: ClusterCache, woken: list[bool]) -> list[Plan]:
    """Decide as the loop does, as often as anything wakes it; stop where that would be for ever."""
    woken.append(True)
    plans: list[Plan] = []
    while woken and len(plans) < 200:
        woken.clear()
        cache.pass_to(10_000.0)
        plans.append(decided(cache, limit=100))
    return plans


def reasons(cache: ClusterCache) -> dict[str, int]:
    told: dict[str, int] = {}
    for kind, run in cache.backlog.runs.items():
        reason = cache.reasons.of(kind).reason.value
        told[reason] = told.get(reason, 0) + len(run)
    return told


def test_the_first_in_order_is_looked_at_first_and_all_in_the_end() -> None:
    woken: list[bool] = []
    cache = a_flooded_cache(300, woken=woken)
    plans = until_at_rest(cache, woken)
    assert list(admitted(plans[0])) == ["p0000"]
    assert {len(plan.waits) for plan in plans[:-1]} <= set(range(1, MOST + 1))
    assert reasons(cache) == {"NeverFits": 299}
    assert len(plans) <= 300 // MOST + 3


def a_decision_of_the_loop(cache: ClusterCache) -> Plan:
    """Decide as the loop does, once what can be done in parts is."""
    for _ in cache.catch_up(10_000.0):
        pass
    cache.pass_to(10_000.0)
    return decided(cache, limit=100)


def caught_up(cache: ClusterCache) -> ClusterCache:
    for _ in cache.catch_up(10_000.0):
        pass
    return cache


def test_a_decision_costs_the_same_however_many_classes_there_are() -> None:
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
        plans: list[Plan] = []
        costs.append(work_of(lambda cache=cache, plans=plans: plans.append(a_decision_of_the_loop(cache))))  # type: ignore[misc]
        assert "other" in admitted(plans[0])
    per_class = 1_000  # lines, for a look at one class and what is learnt of it
    assert costs[1] <= costs[0] + MOST * per_class


@pytest.mark.parametrize(
    "happens",
    [
        lambda cache: None,
        lambda cache: cache.reopen_all(),
        lambda cache: cache.look_over(),
        lambda cache: cache.set_local_queue(MAIN, a_local_queue("main", "team-a")),
        lambda cache: cache.put_node(a_node("n2", cpu="1")),
        lambda cache: cache.set_cluster_queue("team-a", a_cluster_queue("team-a", a_quota(cpu="2"))),
        lambda cache: cache.set_flavor("spot", a_flavor("spot")),
        lambda cache: cache.drop_pod("p0000"),
        lambda cache: cache.pass_to(20_000.0),
    ],
)
def test_no_part_of_what_follows_an_event_grows_with_the_flood(happens: Callable[[ClusterCache], None]) -> None:
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
def test_a_pod_that_comes_or_ends_beside_a_flood_costs_the_same(fields: dict[str, Any], *, is_full: bool) -> None:
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
        here = {"cluster_queue": "team-b", "node": "node-1", "admitted_at": 10_000.0}
        cache.put_pod(a_released_pod("other", a_shape(cpu="1m"), queue="other", **here))
        until_at_rest(cache, woken)
        ends = work_of(partial(cache.drop_pod, "other"))
        costs.append((comes, ends, work_of(partial(a_decision_of_the_loop, caught_up(cache)))))
    assert all(more <= 1.05 * less for less, more in zip(*costs, strict=True))


def test_all_is_looked_at_anew_by_and_by() -> None:
    woken: list[bool] = []
    cache = a_flooded_cache(100, woken=woken)
    until_at_rest(cache, woken)
    cache.look_over()
    looked_at: set[object] = set()
    again_at = 0.0
    for number in range(8):
        again_at = cache.pass_to(10_001.0 + number)
        looked_at.update(decided(cache).waits)
    assert len(looked_at) == 99
    assert again_at > 10_001.0 + number + 1


def test_a_pod_with_a_better_place_is_the_first_of_many() -> None:
    woken: list[bool] = []
    cache = a_flooded_cache(300, woken=woken, strategy=STRICT)
    decided(cache)
    cache.settle("p0000")
    cache.put_pod(a_pod("p0000", a_shape(cpu="9"), created=9_999.0, resource_version="2"))
    cache.put_pod(a_pod("urgent", a_shape(cpu="500m"), priority=5, created=9_000.0))
    assert list(admitted(decided(cache))) == ["urgent"]


@pytest.mark.parametrize("limit", [1, 100])
def test_all_behind_the_head_of_a_strict_queue_are_told_once(limit: int) -> None:
    woken: list[bool] = []
    cache = a_flooded_cache(200, woken=woken, quota="2", strategy=STRICT)
    plans = until_at_rest(cache, woken)
    assert len(plans) < 20
    told = reasons(cache)
    assert (told["QuotaExceeded"], told["Priority"]) == (1, 198)
    cache.pass_to(10_010.0)
    assert len(decided(cache, limit=limit).waits) <= MOST


def test_a_standing_class_is_taken_however_many_come_before_it() -> None:
    pods = [a_pod(f"p{n}", a_shape(cpu=f"{n + 1}"), created=float(n)) for n in range(9)]
    runs = {a_workload(pod).kind: [a_workload(pod)] for pod in pods}
    kinds = list(runs)
    pending = Pending(kinds, most=2)
    pending.stand(kinds[8])
    for _ in range(2):
        assert list(pending.take(runs)) == [kinds[8], *kinds[:2]]
    pending.open(kinds[8])
    assert list(pending.take(runs)) == [kinds[8], *kinds[:2]]
    pending.drop(kinds[8])
    assert kinds[8] not in pending
    assert list(pending.take(runs)) == kinds[:2]


def test_those_of_which_nothing_is_said_do_not_keep_others_out() -> None:
    pods = [a_pod(f"p{n}", a_shape(cpu=f"{n + 1}"), created=float(n)) for n in range(5)]
    runs = {a_workload(pod).kind: [a_workload(pod)] for pod in pods}
    kinds = list(runs)
    pending = Pending(kinds, most=2)
    taken = []
    while True:
        taken.append(list(pending.take(runs)))
        if not pending.rest(runs, any_admitted=False):
            break
    assert taken == [kinds[:2], kinds[:4], [*kinds[:2], kinds[4]]]
    assert len(pending) == len(list(pending)) == 5


def test_a_class_whose_head_moved_takes_its_new_place() -> None:
    first, second = (a_pod(name, a_shape(cpu=cpu), created=at) for name, cpu, at in (("a", "1", 1.0), ("b", "2", 2.0)))
    runs = {a_workload(pod).kind: [a_workload(pod)] for pod in (first, second)}
    kinds = list(runs)
    pending = Pending(kinds, most=1)
    assert list(pending.take(runs)) == [kinds[0]]
    later = a_pod("c", a_shape(cpu="1"), created=3.0)
    runs[kinds[0]] = [a_workload(later)]
    assert list(pending.take(runs)) == [kinds[1]]
