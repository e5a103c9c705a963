"""Whether a workload may come to have room by preemption: what is known of a tree holds until something moves in it."""

from __future__ import annotations

from dataclasses import replace

from controller.cache.cluster import ClusterCache
from controller.core.decision.decide import decide
from controller.core.kubernetes.owners import Owner
from controller.core.queueing.preemption_policy import Preemption, Reclaim
from controller.core.workloads.decisions import Plan
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
from tests.support.snapshots import changed

TWO = a_shape(cpu="2")
WEB = Owner("apps/v1", "ReplicaSet", "web", "web")
BORROWER = a_released_pod("borrower", TWO, owner=WEB, cluster_queue="team-b", node="n1")


def a_tree_in_which_all_is_taken() -> ClusterCache:
    """`team-b` has borrowed all that `org` owns; `team-a` uses all of its own, and would have to borrow too."""
    queues = [
        a_cluster_queue("org", a_quota(cpu="2")),
        a_cluster_queue("team-a", a_quota(cpu="2"), parent="org", preemption=Preemption(reclaim=Reclaim.ANY)),
        a_cluster_queue("team-b", a_quota(cpu="0"), parent="org"),
    ]
    own = a_released_pod("own", TWO, cluster_queue="team-a", node="n2")
    nodes = [a_node("n1", cpu="2"), a_node("n2", cpu="2")]
    cache = a_cache(
        BORROWER, own, a_pod("waits", TWO), nodes=nodes, queues=queues, locals_=[a_local_queue("main", "team-a")]
    )
    cache.advance(10_000.0)
    return cache


def decided_by_what_is_kept(cache: ClusterCache) -> Plan:
    return decide(changed(cache.snapshot(), asked=()), index=cache.feasibility, limit=UNLIMITED)


def test_who_would_borrow_too_is_not_searched_for() -> None:
    plan = decided_by_what_is_kept(a_tree_in_which_all_is_taken())
    assert (plan.waits, plan.preemptors) == ({}, {})


def test_who_owns_quota_again_preempts_who_borrowed() -> None:
    cache = a_tree_in_which_all_is_taken()
    decided_by_what_is_kept(cache)
    cache.put_node(a_node("n2", cpu="2", is_usable=False))
    cache.drop_pod("own")
    plan = decided_by_what_is_kept(cache)
    assert [one.pod.uid for one in plan.evicts] == ["borrower"]


def test_what_is_left_on_a_node_that_comes_later_counts() -> None:
    cache = a_tree_in_which_all_is_taken()
    for node in (a_node("n1", cpu="1"), a_node("n2", cpu="1")):
        cache.put_node(node)
    cache.put_pod(replace(BORROWER, node="n3", resource_version="3"))
    cache.drop_pod("own")
    assert not decided_by_what_is_kept(cache).evicts
    cache.put_node(a_node("n3", cpu="2"))
    assert [one.pod.uid for one in decided_by_what_is_kept(cache).evicts] == ["borrower"]
