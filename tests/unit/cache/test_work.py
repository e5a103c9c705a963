"""What events cost, as lines of Python run: a node that comes, a pod that ends, a Job that changes, whoever waits."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from controller.cache.cluster import ClusterCache
from controller.cache.sinks import JobSink, NamespaceSink, NodeSink, PodSink
from controller.core.kubernetes.owners import Job
from controller.core.queueing.ageing import Ageing
from controller.core.queueing.effective import Variation, WrittenQuota
from controller.core.queueing.queues import CapacityMode
from controller.core.queueing.shares import Share
from controller.kube.decode_jobs import JobState
from controller.kube.wire import Owned
from tests.support.builders import (
    MAIN,
    a_cache,
    a_cluster_queue,
    a_flavor,
    a_local_queue,
    a_node,
    a_pod,
    a_quota,
    a_released_pod,
    a_shape,
    decided,
)
from tests.support.loop_work import work_of

SHARE = Variation(shares=(WrittenQuota("spot", {"cpu": Share(10)}),))


def a_world_of_shares(count: int, *, parent: str = "") -> ClusterCache:
    """So many queues that have a percentage of a flavor, alone or below one parent, with two running pods each."""
    cache = a_cache(nodes=[a_node("n1", cpu="100")], queues=[a_cluster_queue("org", a_quota())] if parent else [])
    for name in (f"team-{n:03}" for n in range(count)):
        queue = a_cluster_queue(name, a_quota(cpu="1"), parent=parent)
        cache.set_cluster_queue(name, queue, variation=SHARE)
        cache.set_local_queue(("default", name), a_local_queue(name, name))
        for pod in ("a", "b"):
            cache.put_pod(
                a_released_pod(f"{name}-{pod}", a_shape(cpu="10m"), queue=name, cluster_queue=name, node="n1")
            )
    cache.advance(1000.0)
    decided(cache)
    return cache


@pytest.mark.parametrize("parent", ["", "org"])
def test_a_node_costs_once_for_all_queues_with_shares(parent: str) -> None:
    counted = []
    for count in (20, 80):
        cache = a_world_of_shares(count, parent=parent)
        cache.put_node(a_node("n2", cpu="100"))
        counted.append(work_of(lambda cache=cache: cache.advance(1001.0)))  # type: ignore[misc]
    assert counted[1] < 5 * counted[0]


def longest_part(cache: ClusterCache, now: float) -> int:
    """Return the lines of the longest part of what the loop does before it decides."""
    parts, counted = cache.catch_up(now), list[int]()
    while True:
        ended: list[bool] = []
        counted.append(work_of(lambda ended=ended: ended.append(next(parts, True) is True)))  # type: ignore[misc]
        if ended == [True]:
            return max(counted)


def test_pods_whose_time_has_come_at_once_are_seen_in_parts() -> None:
    longest = []
    for count in (300, 1200):
        quotas = replace(a_quota("spot", cpu="8"), fallback_after=600), a_quota("steady", cpu="8")
        cache = a_cache(
            *(a_pod(f"p{n}", a_shape(cpu="9"), created=1000.0) for n in range(count)),
            flavors=[a_flavor("spot"), a_flavor("steady")],
            queues=[a_cluster_queue("team-a", *quotas)],
        )
        cache.advance(1001.0)
        decided(cache)
        longest.append(longest_part(cache, 1601.0))
    assert longest[1] < 1.1 * longest[0]


def test_pods_of_a_changed_queue_move_in_parts() -> None:
    longest = []
    for count in (300, 1200):
        cache = a_cache(*(a_pod(f"p{n}", a_shape(cpu="9")) for n in range(count)))
        cache.advance(1001.0)
        cache.set_cluster_queue("team-a", a_cluster_queue(ageing=Ageing(60, 1, 10)))
        longest.append(longest_part(cache, 1002.0))
    assert longest[1] < 1.1 * longest[0]


def test_another_reason_of_a_large_class_is_noted_by_and_by() -> None:
    counted = []
    for count in (300, 1200):
        cache = a_cache(*(a_pod(f"p{n}", a_shape(cpu="9")) for n in range(count)))
        cache.advance(1001.0)
        decided(cache)
        cache.set_local_queue(MAIN, None)
        longest_part(cache, 1002.0)
        counted.append(work_of(lambda cache=cache: decided(cache)))  # type: ignore[misc]
    assert counted[1] < 1.1 * counted[0]


def test_pods_that_wait_in_vain_for_nodes_are_judged_one_by_one() -> None:
    counted = []
    for count in (100, 400):
        flavor = a_flavor("spot", mode=CapacityMode.AUTOSCALED, provision_timeout=600, cool_down=600, sums={})
        here = [a_released_pod(f"p{n}", node="node-1", admitted_at=2000.0) for n in range(count)]
        late = a_released_pod("late", admitted_at=1000.0, unscheduled="no node")
        cache = a_cache(*here, late, flavors=[flavor])
        cache.advance(1001.0)
        counted.append(longest_part(cache, 1601.0))
    assert counted[1] < 1.1 * counted[0]


def test_lists_are_taken_in_by_parts_that_do_not_grow() -> None:
    for sink_of, make in (
        (PodSink, lambda n: a_pod(f"p{n}", a_shape(cpu=f"{n + 1}m"))),
        (NodeSink, lambda n: a_node(f"n{n}")),
        (NamespaceSink, lambda n: Owned(name=f"team-{n}", labels={})),
        (JobSink, lambda n: JobState(Job(uid=f"j{n}", namespace="default", name=f"j{n}"))),
    ):
        longest = []
        for count in (250, 1000):
            sink: Any = sink_of(a_cache(nodes=[]))
            parts, counted = [], list[int]()
            for items in ([make(n) for n in range(count)], [make(0)]):
                parts = sink.replace(items)
                while True:
                    ended: list[bool] = []
                    counted.append(work_of(lambda parts=parts, ended=ended: ended.append(next(parts, True) is True)))  # type: ignore[misc]
                    if ended == [True]:
                        break
            longest.append(max(counted))
        assert longest[1] < 1.1 * longest[0], sink_of
