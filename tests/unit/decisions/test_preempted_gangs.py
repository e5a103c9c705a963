"""A gang that was preempted, while its pods take their grace period and its owner makes others in their place."""

from __future__ import annotations

from dataclasses import replace

from controller.cache.cluster import ClusterCache
from controller.core.keys import GATE
from controller.core.kubernetes.owners import Owner
from controller.core.queueing.preemption_policy import Preemption, Within
from controller.core.reasons import Reason
from controller.core.workloads.decisions import Plan
from controller.core.workloads.groups import GroupKey, Membership
from tests.support.builders import (
    a_cache,
    a_cluster_queue,
    a_flavor,
    a_node,
    a_pod,
    a_quota,
    a_released_pod,
    a_shape,
    admitted,
    constraints,
    decided,
)

WEB = Owner("apps/v1", "ReplicaSet", "web", "web")
GANG = Membership(GroupKey("default", "gang"), 2)


def take_in(cache: ClusterCache, plan: Plan) -> None:
    """Take in the pods of a decision as they are released, and others in place of those that it evicts."""
    for admit in plan.admits:
        stamps = {"cluster_queue": "team-a", "flavor": admit.flavor, "node": admit.node, "admitted_at": 100.0}
        cache.put_pod(replace(cache.pods[admit.uid], gates=(), resource_version="3", **stamps))  # type: ignore[arg-type]
        cache.settle(admit.uid)
    for evict in plan.evicts:
        pod = cache.pods[evict.pod.uid]
        cache.evictions.begin(evict)
        cache.drop_pod(pod.uid)
        fresh = replace(pod, uid=f"{pod.uid}-2", name=f"{pod.name}-2", gates=(GATE,), node=None, admitted_at=0.0)
        cache.put_pod(replace(fresh, cluster_queue=None, flavor=None, resource_version="2"))


def test_a_gang_does_not_take_back_what_it_gave_up() -> None:
    shape, lower = a_shape(cpu="1"), Preemption(Within.LOWER_PRIORITY)
    member = {"node": "n", "owner": WEB, "admitted_at": 10.0, "group": replace(GANG, size=3)}
    cache = a_cache(
        a_released_pod("done", shape, is_finished=True, has_succeeded=True, **member),
        *(a_released_pod(name, shape, **member) for name in ("one", "two")),
        a_pod("urgent", shape, priority=2, owner=WEB, created=60.0),
        nodes=[a_node("n", cpu="20")],
        queues=[a_cluster_queue("team-a", a_quota(cpu="2"), preemption=lower)],
    )
    cache.advance(100.0)
    plans = []
    for _ in range(4):
        plans.append(decided(cache))
        take_in(cache, plans[-1])
    assert [sorted(evict.pod.uid for evict in plan.evicts) for plan in plans] == [["one", "two"], [], [], []]
    assert admitted(plans[1]) == {"urgent": ("spot", "n"), "one-2": ("spot", "n")}


def test_replacements_are_not_preempted_with_their_gang() -> None:
    lower = Preemption(Within.LOWER_PRIORITY)
    members = {"flavor": "steady", "node": "n", "owner": WEB, "admitted_at": 10.0, "group": GANG}
    cache = a_cache(
        *(a_released_pod(name, a_shape(cpu="1"), **members) for name in ("one", "two")),
        a_pod("urgent", a_shape(constraints(selector={"pool": "steady"}), cpu="1"), priority=2, owner=WEB),
        nodes=[a_node("n", cpu="2", labels={"pool": "steady"}), a_node("m", cpu="4")],
        flavors=[a_flavor("steady"), a_flavor("spot")],
        queues=[a_cluster_queue("team-a", a_quota("steady", cpu="2"), a_quota("spot", cpu="4"), preemption=lower)],
    )
    cache.advance(100.0)
    assert {evict.pod.uid for evict in decided(cache).evicts} == {"one", "two"}
    for name in ("one", "two"):
        going = replace(cache.pods[name], is_terminating=True, resource_version="2")
        cache.put_pod(going)
        fresh = replace(going, uid=f"{name}-2", name=f"{name}-2", is_terminating=False, gates=(GATE,), node=None)
        cache.put_pod(replace(fresh, cluster_queue=None, flavor=None, admitted_at=0.0))
    plan = decided(cache)
    assert admitted(plan) == {"one-2": ("spot", "m"), "two-2": ("spot", "m")}
    take_in(cache, plan)
    after = decided(cache)
    assert not after.evicts
    assert after.preemptors.keys() == {"urgent"}


def test_a_replacement_waits_and_preempts_nobody() -> None:
    member = {"node": "n", "owner": WEB, "admitted_at": 10.0, "group": GANG}
    cache = a_cache(
        *(a_released_pod(name, a_shape(cpu="1"), **member) for name in ("one", "two")),
        a_released_pod("low", a_shape(cpu="1"), node="n", owner=WEB, admitted_at=10.0, priority=-5),
        nodes=[a_node("n", cpu="3")],
        queues=[a_cluster_queue("team-a", a_quota(cpu="3"), preemption=Preemption(Within.LOWER_PRIORITY))],
    )
    cache.advance(100.0)
    cache.put_pod(replace(cache.pods["one"], is_terminating=True, resource_version="3"))
    cache.put_pod(a_pod("one-2", a_shape(cpu="1"), group=GANG, owner=WEB, created=90.0))
    plan = decided(cache)
    assert (plan.evicts, dict(plan.preemptors)) == ((), {"one-2": 1})
    cache.drop_pod("one")
    assert admitted(decided(cache)) == {"one-2": ("spot", "n")}


def test_a_leaving_gang_leaves_its_room_once() -> None:
    """Found by `make fuzz-decide`: a member's successor took from the gang what another one waited for already."""
    member = {"node": "n", "owner": WEB, "admitted_at": 10.0, "group": GANG, "is_terminating": True}
    cache = a_cache(
        *(a_released_pod(name, a_shape(cpu="1"), **member) for name in ("one", "two")),
        a_pod("urgent", a_shape(cpu="2"), priority=2, owner=WEB, created=60.0),
        *(a_pod(name, a_shape(cpu="1"), group=GANG, owner=WEB, created=90.0) for name in ("one-2", "two-2")),
        nodes=[a_node("n", cpu="2")],
        queues=[a_cluster_queue("team-a", a_quota(cpu="2"), preemption=Preemption(Within.LOWER_PRIORITY))],
    )
    cache.advance(100.0)
    plan = decided(cache)
    assert plan.preemptors.keys() == {"urgent"}
    assert [wait.reason for wait in plan.waits.values()].count(Reason.PREEMPTING) == 1
