"""What is remembered of preemptors where the limit of a decision is reached before all were looked at."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from controller.cache.cluster import ClusterCache
from controller.core.kubernetes.owners import Owner
from controller.core.queueing.preemption_policy import Preemption, Within
from tests.support.builders import (
    a_cache,
    a_cluster_queue,
    a_flavor,
    a_foreign_pod,
    a_local_queue,
    a_node,
    a_pod,
    a_quota,
    a_released_pod,
    a_shape,
    admitted,
    decided,
)

WEB = Owner("apps/v1", "ReplicaSet", "web", "web")
LOWER = Preemption(Within.LOWER_PRIORITY)


def an_early_end() -> ClusterCache:
    """One plan lets `first` in and comes to nobody else; `second` began after it, and half of its place is free.

    Some of that would be enough for `small`, of another tree.
    """
    runs: dict[str, Any] = {"owner": WEB, "admitted_at": 5.0}
    half = {**runs, "node": "a", "queue": "two", "cluster_queue": "two"}
    cache = a_cache(
        a_released_pod("low", node="c", queue="one", cluster_queue="one", flavor="fast", **runs),
        a_released_pod("half-1", a_shape(cpu="2"), **half),
        a_released_pod("half-2", a_shape(cpu="2"), **half),
        a_foreign_pod("stranger", a_shape(cpu="4"), node="b"),
        a_pod("first", queue="one", priority=7),
        a_pod("second", a_shape(cpu="4"), queue="two", priority=5),
        nodes=[a_node("a"), a_node("b", labels={"pool": "steady"}), a_node("c", labels={"pool": "fast"})],
        flavors=[a_flavor("spot"), a_flavor("steady"), a_flavor("fast")],
        queues=[
            a_cluster_queue("one", a_quota("fast", cpu="1"), preemption=LOWER),
            a_cluster_queue("two", a_quota("spot", cpu="4"), a_quota("steady", cpu="4"), preemption=LOWER),
            a_cluster_queue("other", a_quota("spot", cpu="4")),
        ],
        locals_=[a_local_queue(name, name) for name in ("one", "two", "other")],
    )
    for evict in decided(cache).evicts:
        cache.put_pod(replace(evict.pod, is_terminating=True, resource_version="3"))
    cache.put_pod(a_pod("small", queue="other"))
    cache.drop_pod("half-1")
    assert not admitted(decided(cache))
    cache.drop_pod("low")
    plan = decided(cache, limit=1)
    assert (list(admitted(plan)), plan.is_complete) == (["first"], False)
    return cache


def test_a_preemptor_not_reached_continues() -> None:
    cache = an_early_end()
    cache.put_pod(a_pod("higher", a_shape(cpu="4"), queue="two", priority=9))
    cache.drop_pod("half-2")
    assert admitted(decided(cache)) == {"second": ("spot", "a")}


def test_the_hold_of_a_preemptor_not_reached_is_freed() -> None:
    cache = an_early_end()
    cache.drop_pod("stranger")
    assert admitted(decided(cache)) == {"second": ("steady", "b")}
    assert admitted(decided(cache)) == {"small": ("spot", "a")}
