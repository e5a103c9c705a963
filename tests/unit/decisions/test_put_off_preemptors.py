"""Who would preempt while as many evictions are under way as may be: it waits, says so, and is asked anew each time."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller.cache.cluster import ClusterCache
from controller.core.explaining.wording import describe
from controller.core.kubernetes.owners import Owner
from controller.core.queueing.preemption_policy import Preemption, Within
from controller.core.queueing.queues import QueueingStrategy, WhenCanPreempt
from controller.core.workloads.decisions import Evict, EvictionCause, Plan
from tests.support.builders import (
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

WEB = Owner("apps/v1", "ReplicaSet", "web", "web")
LOWER = Preemption(Within.LOWER_PRIORITY)
TEAMS = ("first", "second")


def a_world(**fields: object) -> ClusterCache:
    """Two queues that share nothing, each full of what its urgent pod may preempt."""
    return a_cache(
        *(
            a_released_pod(f"{team}-runs", a_shape(cpu="2"), queue=team, cluster_queue=team, node=team, owner=WEB)
            for team in TEAMS
        ),
        *(
            a_pod(f"{team}-urgent", a_shape(cpu="2"), queue=team, priority=5, created=float(number))
            for number, team in enumerate(TEAMS)
        ),
        nodes=[a_node(team, cpu="2") for team in TEAMS],
        flavors=[a_flavor("spot")],
        queues=[a_cluster_queue(team, a_quota("spot", cpu="2"), preemption=LOWER, **fields) for team in TEAMS],
        locals_=[a_local_queue(team, team) for team in TEAMS],
    )


def let_go_elsewhere(cache: ClusterCache, count: int) -> list[Evict]:
    """Let so many evictions be under way that concern nobody here."""
    evicts = [Evict(a_pod(f"gone-{number}"), EvictionCause.DRAINED, "") for number in range(count)]
    for evict in evicts:
        cache.evictions.begin(evict)
    return evicts


def absorbed(cache: ClusterCache) -> Plan:
    plan = decided(cache)
    for evict in plan.evicts:
        cache.evictions.begin(evict)
    return plan


def evicted(plan: Plan) -> list[str]:
    return [evict.pod.uid for evict in plan.evicts]


def said(plan: Plan) -> str:
    """Why the second team's pod waits."""
    return next(describe(wait, 0.0) for kind, wait in plan.waits.items() if kind.queue[1] == "second")


def test_preemption_stops_at_the_most_evictions() -> None:
    cache = a_world()
    elsewhere = let_go_elsewhere(cache, 99)
    plan = absorbed(cache)
    assert (evicted(plan), [*plan.preemptors]) == (["first-runs"], ["first-urgent"])
    assert waiting(plan) == {"first/2000": "Preempting", "second/2000": "QuotaExceeded"}
    assert said(plan).endswith("; which pods it may preempt is decided when some of the evictions under way have ended")

    # nothing moved in its queue: it is looked at all the same, and found to be no further
    again = absorbed(cache)
    assert (evicted(again), waiting(again)["second/2000"]) == ([], "QuotaExceeded")

    cache.evictions.forget(elsewhere[0].pod.uid)
    later = absorbed(cache)
    assert (evicted(later), [*later.preemptors]) == (["second-runs"], ["first-urgent", "second-urgent"])
    assert said(later) == "flavor spot: waits for 1 preempted pod to go"


def test_a_begun_preemptor_keeps_its_room() -> None:
    cache = a_world()
    absorbed(cache)
    let_go_elsewhere(cache, 100)
    assert waiting(absorbed(cache)) == {"first/2000": "Preempting", "second/2000": "Preempting"}
    cache.drop_pod("first-runs")
    assert [*admitted(absorbed(cache))] == ["first-urgent"]


def test_nobody_who_may_preempt_nobody_is_put_off() -> None:
    cache = a_world()
    let_go_elsewhere(cache, 100)
    cache.put_pod(a_pod("never", a_shape(cpu="3"), queue="second", created=9.0))
    puts_off = {dict(kind.requests)["cpu"]: wait.is_put_off for kind, wait in absorbed(cache).waits.items()}
    assert puts_off == {2000: True, 3000: False}


@pytest.mark.parametrize("strategy", QueueingStrategy)
def test_those_behind_go_on_as_the_strategy_of_the_queue_has_it(strategy: QueueingStrategy) -> None:
    cache = a_world(strategy=strategy)
    let_go_elsewhere(cache, 100)
    cache.drop_pod("second-runs")
    cache.put_pod(a_released_pod("half", a_shape(cpu="1"), queue="second", cluster_queue="second", node="second"))
    cache.put_pod(a_pod("small", a_shape(cpu="1"), queue="second", created=9.0))
    is_kept = strategy is not QueueingStrategy.BEST_EFFORT_FIFO
    assert [*admitted(absorbed(cache))] == ([] if is_kept else ["small"])


def test_preferring_preemption_does_not_take_a_later_flavor() -> None:
    cache = a_cache(
        a_released_pod("runs", a_shape(cpu="2"), flavor="spot", node="one", owner=WEB),
        a_pod("urgent", a_shape(cpu="2"), priority=5),
        nodes=[a_node("one", cpu="2"), a_node("two", cpu="2", labels={"pool": "steady"})],
        flavors=[a_flavor("spot"), a_flavor("steady")],
        queues=[
            a_cluster_queue(
                "team-a",
                a_quota("spot", cpu="2"),
                a_quota("steady", cpu="2"),
                preemption=LOWER,
                when_can_preempt=WhenCanPreempt.MAY_STOP_SEARCH,
            )
        ],
    )
    elsewhere = let_go_elsewhere(cache, 100)
    plan = absorbed(cache)
    assert (admitted(plan), evicted(plan), plan.preemptors) == ({}, [], {})
    assert waiting(plan) == {"main/2000": "QuotaExceeded"}
    cache.evictions.forget(elsewhere[0].pod.uid)
    assert evicted(absorbed(cache)) == ["runs"]


@pytest.mark.parametrize("count", [0, 100])
def test_no_further_eviction_keeps_what_leaving_pods_leave(count: int) -> None:
    cache = a_cache(
        a_released_pod("dying", a_shape(cpu="1"), node="one", owner=WEB, is_terminating=True),
        a_pod("urgent", a_shape(cpu="2"), priority=5),
        a_pod("small", a_shape(cpu="1"), created=9.0),
        nodes=[a_node("one", cpu="2")],
        queues=[a_cluster_queue("team-a", a_quota("spot", cpu="2"), preemption=LOWER)],
    )
    let_go_elsewhere(cache, count)
    plan = absorbed(cache)
    assert (admitted(plan), waiting(plan)["main/2000"]) == ({}, "Preempting")
    cache.drop_pod("dying")
    assert [*admitted(absorbed(cache))] == ["urgent"]


def test_all_victims_of_one_workload_are_evicted() -> None:
    """Else it might give up in between, and those would have gone for nothing."""
    cache = a_world()
    cache.put_pod(replace(cache.pods["first-runs"], shape=a_shape(cpu="1"), resource_version="2"))
    more = replace(cache.pods["first-runs"], name="first-more", uid="first-more")
    cache.put_pod(more)
    let_go_elsewhere(cache, 99)
    plan = absorbed(cache)
    assert sorted(evicted(plan)) == ["first-more", "first-runs"]
    assert list(plan.preemptors) == ["first-urgent"]
