"""A gang that was preempted, while its pods take their grace period and its owner makes others in their place."""

from __future__ import annotations

from dataclasses import replace

from controller.core.groups import GroupKey, Membership
from controller.core.keys import GATE
from controller.core.owners import Owner
from controller.core.preemption_policy import Preemption, Within
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


def test_those_made_in_place_of_pods_that_go_are_not_preempted_with_them() -> None:
    lower = Preemption(Within.LOWER_PRIORITY)
    members = {"flavor": "steady", "node": "n", "owner": WEB, "admitted_at": 10.0, "group": GANG}
    cache = a_cache(
        *(a_released_pod(name, a_shape(cpu="1"), **members) for name in ("one", "two")),
        a_pod("urgent", a_shape(constraints(selector={"pool": "steady"}), cpu="1"), priority=2, owner=WEB),
        nodes=[a_node("n", cpu="2", labels={"pool": "steady"}), a_node("m", cpu="4")],
        flavors=[a_flavor("steady"), a_flavor("spot")],
        queues=[a_cluster_queue("team-a", a_quota("steady", cpu="2"), a_quota("spot", cpu="4"), preemption=lower)],
    )
    cache.pass_to(100.0)
    assert {evict.pod.uid for evict in decided(cache).evicts} == {"one", "two"}
    for name in ("one", "two"):
        going = replace(cache.pods[name], is_terminating=True, resource_version="2")
        cache.put_pod(going)
        fresh = replace(going, uid=f"{name}-2", name=f"{name}-2", is_terminating=False, gates=(GATE,), node=None)
        cache.put_pod(replace(fresh, cluster_queue=None, flavor=None, admitted_at=0.0))
    plan = decided(cache)
    assert admitted(plan) == {"one-2": ("spot", "m"), "two-2": ("spot", "m")}
    for uid in admitted(plan):
        stamps = {"cluster_queue": "team-a", "flavor": "spot", "node": "m", "admitted_at": 100.0}
        cache.put_pod(replace(cache.pods[uid], gates=(), resource_version="3", **stamps))  # type: ignore[arg-type]
        cache.settle(uid)
    after = decided(cache)
    assert not after.evicts
    assert after.preemptors == {"urgent"}
