"""An eviction names the ClusterQueue that it is for: of the workload that preempts, and of no other rule."""

from __future__ import annotations

from controller.core.kubernetes.owners import Owner
from controller.core.queueing.preemption_policy import Preemption, Reclaim, Within
from controller.core.queueing.queues import StopPolicy
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
    decided,
)

WEB = Owner("apps/v1", "ReplicaSet", "web", "web")
TWO = a_shape(cpu="2")


def test_what_is_reclaimed_goes_for_the_queue_that_owns_it() -> None:
    cache = a_cache(
        a_released_pod("runs", TWO, queue="borrows", cluster_queue="borrows", node="node", owner=WEB),
        a_pod("wants", TWO, queue="owns"),
        nodes=[a_node("node", cpu="2")],
        flavors=[a_flavor("spot")],
        queues=[
            a_cluster_queue("org", a_quota("spot", cpu="0")),
            a_cluster_queue("borrows", a_quota("spot", cpu="0"), parent="org"),
            a_cluster_queue("owns", a_quota("spot", cpu="2"), parent="org", preemption=Preemption(reclaim=Reclaim.ANY)),
        ],
        locals_=[a_local_queue("borrows", "borrows"), a_local_queue("owns", "owns")],
    )
    assert [(one.pod.uid, one.beneficiary) for one in decided(cache).evicts] == [("runs", "owns")]


def test_within_a_queue_it_is_the_queue_itself() -> None:
    cache = a_cache(
        a_released_pod("runs", TWO, node="node", owner=WEB),
        a_pod("urgent", TWO, priority=5),
        nodes=[a_node("node", cpu="2")],
        queues=[a_cluster_queue("team-a", a_quota(cpu="2"), preemption=Preemption(Within.LOWER_PRIORITY))],
    )
    assert [(one.pod.uid, one.beneficiary) for one in decided(cache).evicts] == [("runs", "team-a")]


def test_a_drain_is_for_nobody() -> None:
    cache = a_cache(
        a_released_pod("runs", TWO, node="node", owner=WEB),
        nodes=[a_node("node", cpu="2")],
        queues=[a_cluster_queue("team-a", a_quota(cpu="2"), stop=StopPolicy.HOLD_AND_DRAIN)],
    )
    assert [(one.pod.uid, one.beneficiary) for one in decided(cache).evicts] == [("runs", "")]
