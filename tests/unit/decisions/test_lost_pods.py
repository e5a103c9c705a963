"""Pods that are deleted on a node that cannot tell: until when they hold quota. Whole stories are in the scenarios."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from controller.cache.cluster import ClusterCache
from controller.core.calendar.windows import FOR_EVER
from controller.core.evictions.lost_pods import LOST_SECONDS, lost_at
from controller.core.kubernetes.owners import Job, Owner
from controller.core.queueing.preemption_policy import Preemption, Within
from controller.core.queueing.queues import ClusterQueue, StopPolicy
from controller.core.workloads.groups import GroupKey, Membership
from controller.core.workloads.pods import Phase, Pod
from controller.runtime import gauges
from controller.runtime.drain_status import queue_drain
from controller.telemetry.metrics import ControllerMetrics
from tests.support.builders import (
    a_cache,
    a_cluster_queue,
    a_flavor,
    a_foreign_pod,
    a_node,
    a_pod,
    a_quota,
    a_released_pod,
    admitted,
    decided,
    waiting,
)

GONE_BY = 1000.0
LOST = GONE_BY + LOST_SECONDS
TIGHT = a_cluster_queue("team-a", a_quota(cpu="1"))
DEAD = replace(a_node("dead"), is_ready=False, not_ready_since=500)


def a_going_pod(**fields: Any) -> Pod:
    return a_released_pod("a", **{"node": "dead", "is_terminating": True, "gone_by": GONE_BY, **fields})


def a_cache_at(now: float, *pods: Pod, queue: ClusterQueue = TIGHT, dead: bool = True) -> ClusterCache:
    cache = a_cache(*pods, nodes=[a_node(), DEAD if dead else a_node("dead")], queues=[queue])
    cache.advance(now)
    return cache


def cpu(cache: ClusterCache) -> tuple[int, dict[str, int]]:
    """Cpu of the queue, and by node, as a decision would see it."""
    cache.snapshot()
    by_node = {node: sums["cpu"] for node, sums in cache.usage.by_node.items()}
    return cache.usage.by_queue.get(("team-a", "spot", "cpu"), 0), by_node


@pytest.mark.parametrize(
    ("pod", "at"),
    [
        (a_going_pod(), LOST),
        (a_going_pod(cluster_queue=None, flavor=None), LOST),
        (a_going_pod(gone_by=0.0), None),
        (a_going_pod(node=None), None),
        (a_going_pod(is_finished=True), None),
        (a_pod("a", is_terminating=True, gone_by=GONE_BY), None),
        (a_foreign_pod("a", node="dead", is_terminating=True, gone_by=GONE_BY), None),
        (a_released_pod("a", node="dead"), None),
    ],
)
def test_a_pod_on_a_dead_node_is_lost_after_a_minute(pod: Pod, at: float | None) -> None:
    assert lost_at(pod) == at


def test_the_moment_of_loss_wakes_the_loop() -> None:
    cache = a_cache(a_going_pod(), a_pod("b"), nodes=[a_node(), DEAD], queues=[TIGHT])
    assert cache.advance(LOST - 1) == LOST
    assert waiting(decided(cache)) == {"main/1000": "QuotaExceeded"}
    # nothing but the timer opens its class: no event came
    assert cache.advance(LOST) != LOST
    assert admitted(decided(cache)) == {"b": ("spot", "node-1")}


def test_a_lost_pod_takes_only_room_on_its_node() -> None:
    cache = a_cache_at(LOST, a_going_pod(user="ann"))
    assert cpu(cache) == (0, {"dead": 1000})
    assert (cache.usage.counts, cache.usage.local_counts, cache.usage.by_flavor) == ({}, {}, {})
    assert (cache.usage.charged, cache.usage.bound) == ({}, {"dead": {"a": None}})


@pytest.mark.parametrize("dead", [True, False])
def test_a_pod_on_a_healthy_node_is_never_lost(*, dead: bool) -> None:
    cache = a_cache_at(LOST + 1_000_000, a_going_pod(), dead=dead)
    assert cpu(cache)[0] == (0 if dead else 1000)
    assert cache.usage.counts[("team-a", Phase.RUNNING)] == (0 if dead else 1)


def test_what_its_node_says_is_followed_as_long_as_it_is_there() -> None:
    cache = a_cache_at(LOST, a_going_pod(), dead=False)
    seen = []
    for change in ("notReady", "ready", "gone", "ready", "cordoned", "notReady"):
        match change:
            case "notReady":
                cache.put_node(DEAD)
            case "gone":
                cache.drop_node("dead")
            case _:
                cache.put_node(a_node("dead", is_usable=change != "cordoned"))
        seen.append(cpu(cache)[0])
    assert seen == [0, 1000, 0, 1000, 1000, 0]
    cache.drop_pod("a")
    assert cache.clocks.lost.moved() == []
    cache.put_node(a_node("dead"))
    assert cpu(cache) == (0, {})
    assert cache.advance(LOST + 1) == FOR_EVER


def test_late_nodes_restore_the_charge_of_their_pods() -> None:
    cache = a_cache(a_going_pod(), nodes=[], queues=[TIGHT])
    cache.advance(LOST)
    assert cpu(cache)[0] == 0
    cache.put_node(a_node("dead"))
    assert cpu(cache)[0] == 1000


def test_a_deletion_that_is_hastened_counts_from_its_new_time() -> None:
    cache = a_cache_at(GONE_BY, a_going_pod(gone_by=GONE_BY + 3600))
    cache.put_pod(a_going_pod(gone_by=GONE_BY, resource_version="9"))
    assert cache.advance(GONE_BY + 1) == LOST
    cache.advance(LOST)
    assert cpu(cache)[0] == 0


def test_what_may_run_on_several_flavors_holds_none_of_them() -> None:
    flavors = [a_flavor("spot"), a_flavor("steady", labels={"pool": "steady"})]
    pod = a_going_pod(flavor=None, flavors=("spot", "steady"))
    cache = a_cache(pod, nodes=[], flavors=flavors, queues=[a_cluster_queue("team-a", a_quota(), a_quota("steady"))])
    assert len(cache.usage.by_flavor) > 2
    cache.advance(LOST)
    assert (cache.usage.by_queue, cache.usage.by_flavor) == ({}, {})


def test_it_counts_against_the_retries_of_its_job_as_before() -> None:
    owner = Owner("batch/v1", "Job", "train", "job")
    other, queue = a_released_pod("b", owner=owner), replace(TIGHT, allow_job_retries=True)
    for now in (GONE_BY, LOST):
        cache = a_cache_at(now, a_going_pod(owner=owner), other, queue=queue)
        cache.set_job("job", Job(uid="job", namespace="default", name="train", backoff_limit=1))
        assert not cache.snapshot().returns().verdict(other, "team-a").may_return


def test_a_queue_that_drains_waits_for_it_no_more() -> None:
    queue = replace(TIGHT, stop=StopPolicy.HOLD_AND_DRAIN)
    found = [next(iter(queue_drain(a_cache_at(now, a_going_pod(), queue=queue), "team-a"))) for now in (LOST - 1, LOST)]
    assert [(kind, status, reason) for kind, status, reason, _ in found] == [
        ("Drained", False, "Draining"),
        ("Drained", True, "Drained"),
    ]


@pytest.mark.parametrize("now", [LOST - 1, LOST])
def test_a_lost_member_does_not_protect_its_gang(now: float) -> None:
    web, gang = Owner("apps/v1", "ReplicaSet", "web", "web"), Membership(GroupKey("default", "gang"), 2)
    lost = a_going_pod(owner=web, group=gang)
    other = a_released_pod("b", node="node-1", owner=web, group=gang)
    queue = a_cluster_queue("team-a", a_quota(cpu="8"), preemption=Preemption(within=Within.LOWER_PRIORITY))
    cache = a_cache(lost, other, nodes=[a_node(cpu="1"), DEAD], queues=[queue])
    cache.advance(LOST - 400)
    decided(cache)  # it is seen to go, and by `now` that takes too long
    cache.advance(now)
    cache.put_pod(a_pod("urgent", priority=1000))
    assert [evict.pod.uid for evict in decided(cache).evicts] == ["b"]


def test_the_metric_counts_them() -> None:
    cache, metrics = a_cache_at(LOST, a_going_pod()), ControllerMetrics()
    for there in (1.0, 0.0):
        list(gauges.refresh(cache, metrics))
        assert metrics.registry.get_sample_value("penstock_lost_pods") == there
        cache.drop_pod("a")
