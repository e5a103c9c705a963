"""Whom one pod preempts that lacks room on a node: those there, unless quota is short too."""

from __future__ import annotations

from typing import Any

from controller.cache.cluster import ClusterCache
from controller.core.decision.decide import decide
from controller.core.kubernetes.owners import Owner
from controller.core.queueing.preemption_policy import Preemption, Within
from controller.core.queueing.queues import QueueingStrategy
from controller.core.workloads.pods import Pod
from tests.support.builders import (
    UNLIMITED,
    a_cache,
    a_cluster_queue,
    a_local_queue,
    a_node,
    a_pod,
    a_quota,
    a_released_pod,
    a_shape,
)

WEB = Owner("apps/v1", "ReplicaSet", "web", "web")


def running(name: str, cpu: str, node: str, admitted_at: float) -> Pod:
    return a_released_pod(name, a_shape(cpu=cpu), owner=WEB, node=node, admitted_at=admitted_at, cluster_queue="team-a")


def a_world(*pods: Pod, quota: str, cpu: str) -> ClusterCache:
    """A pod of this size waits, which fits only on the node that is called large."""
    return a_cache(
        *pods,
        a_pod("urgent", a_shape(cpu=cpu), priority=5),
        nodes=[a_node("large", cpu="4"), a_node("small", cpu="2")],
        queues=[a_cluster_queue("team-a", a_quota(cpu=quota), preemption=Preemption(Within.LOWER_PRIORITY))],
    )


def gone(*pods: Pod, quota: str, cpu: str = "3") -> set[str]:
    """Who goes for it."""
    cache = a_world(*pods, quota=quota, cpu=cpu)
    return {one.pod.name for one in decide(cache.snapshot(), index=cache.feasibility, limit=UNLIMITED).evicts}


ELSEWHERE = running("elsewhere", "1", "small", 30.0)
BIG, LITTLE = running("big", "2", "large", 10.0), running("little", "1", "large", 20.0)


def test_who_is_on_other_nodes_stays() -> None:
    assert gone(ELSEWHERE, LITTLE, BIG, quota="100") == {"big"}
    assert gone(ELSEWHERE, LITTLE, BIG, quota="100", cpu="4") == {"big", "little"}


def test_short_quota_puts_the_last_victims_back_first() -> None:
    # 4 cpu are used of 4.5; without big there is room, but 3 more need 2.5 of the quota back: little may stay, and
    # who is elsewhere then has to go
    assert gone(ELSEWHERE, LITTLE, BIG, quota="4500m") == {"big", "elsewhere"}


def test_where_all_that_may_go_leave_no_room_nobody_goes() -> None:
    rest = a_released_pod("rest", a_shape(cpu="2"), node="large", cluster_queue="team-a", priority=9, owner=WEB)
    assert gone(ELSEWHERE, LITTLE, rest, quota="100") == set()


def test_room_of_victims_counts_beside_a_reservation() -> None:
    # "reserved" finds no room for two, and room is kept for it on "soon"; for "urgent" goes "large", which leaves
    # three; so "waits", which asks for two as well, lacks quota alone, and "small" is enough on whichever node it is
    runs: dict[str, Any] = {"queue": "b", "cluster_queue": "b"}
    cache = a_cache(
        a_pod("reserved", a_shape(cpu="2"), queue="kept", priority=9),
        a_pod("urgent", queue="a", priority=7),
        a_pod("waits", a_shape(cpu="2"), queue="b", priority=5),
        a_released_pod("ends", a_shape(cpu="4"), node="soon", cluster_queue="kept", started=1, expected_runtime=60),
        a_released_pod("large", a_shape(cpu="4"), owner=WEB, node="left", queue="a", cluster_queue="a"),
        a_released_pod("dear", a_shape(cpu="3"), owner=WEB, node="other", priority=9, **runs),
        a_released_pod("small", owner=WEB, node="other", **runs),
        nodes=[a_node(name, cpu="4") for name in ("soon", "left", "other")],
        queues=[
            a_cluster_queue("kept", a_quota(cpu="8"), strategy=QueueingStrategy.BACKFILL),
            a_cluster_queue("a", a_quota(cpu="4"), preemption=Preemption(Within.LOWER_PRIORITY)),
            a_cluster_queue("b", a_quota(cpu="5"), preemption=Preemption(Within.LOWER_PRIORITY)),
        ],
        locals_=[a_local_queue(name, name) for name in ("kept", "a", "b")],
    )
    plan = decide(cache.snapshot(), index=cache.feasibility, limit=UNLIMITED)
    assert {one.pod.name for one in plan.evicts} == {"large", "small"}
