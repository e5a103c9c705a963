"""Preemption where it could go wrong: nodes on no shelf, several at once, refusals, limits of users, last retries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from controller.cache.cluster import ClusterCache
from controller.core.kubernetes.owners import Job, Owner
from controller.core.queueing.preemption_policy import Preemption, Reclaim, Within
from controller.core.queueing.queues import ClusterQueue, WhenCanBorrow
from controller.core.workloads.groups import GroupKey, Membership, PodGroup
from controller.core.workloads.pods import Pod
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
    a_tree_quota,
    admitted,
    constraints,
    decided,
    waiting,
)

WEB = Owner("apps/v1", "ReplicaSet", "web", "web")
JOB = Owner("batch/v1", "Job", "train", "train")
LOWER = Preemption(Within.LOWER_PRIORITY)


def a_queue(cpu: str, **fields: Any) -> ClusterQueue:
    return a_cluster_queue("team-a", a_quota(cpu=cpu), **{"preemption": LOWER, **fields})


def a_victim(name: str, cpu: str = "1", **fields: Any) -> Pod:
    return a_released_pod(name, a_shape(cpu=cpu), **{"owner": WEB, "node": "node-1", "admitted_at": 1.0, **fields})


def urgent(name: str = "urgent", cpu: str = "1", **fields: Any) -> Pod:
    return a_pod(name, a_shape(cpu=cpu), **{"priority": 5, "created": 50.0, **fields})


def evicted(cache: ClusterCache) -> list[str]:
    """Decide once, let what is evicted be on its way, and name it."""
    evicts = decided(cache).evicts
    for evict in evicts:
        cache.evictions.begin(evict)
    return sorted(evict.pod.uid for evict in evicts)


def test_a_victim_on_a_cordoned_node_moves_no_other_node() -> None:
    for bad, good in (("node-1", "node-2"), ("node-2", "node-1")):
        nodes = [a_node(bad, is_usable=False, cpu="16"), a_node(good, cpu="4")]
        cache = a_cache(a_victim("v", "4", node=bad), urgent(cpu="2"), queues=[a_queue("4")], nodes=nodes)
        assert evicted(cache) == ["v"]
        cache.drop_pod("v")
        assert admitted(decided(cache)) == {"urgent": ("spot", good)}


def test_of_several_preemptors_each_takes_no_more_than_it_needs() -> None:
    nodes = [a_node(cpu="10", pods=99)]
    victims = [a_victim(f"v{number}") for number in range(10)]
    cache = a_cache(*victims, *(urgent(f"u{number}") for number in range(3)), queues=[a_queue("10")], nodes=nodes)
    assert len(evicted(cache)) == 3
    assert evicted(cache) == []


def test_what_a_large_victim_leaves_is_enough_for_several() -> None:
    nodes = [a_node(cpu="4", pods=99)]
    cache = a_cache(a_victim("v", "4"), urgent("u1"), urgent("u2"), queues=[a_queue("4")], nodes=nodes)
    assert evicted(cache) == ["v"]
    cache.drop_pod("v")
    assert sorted(admitted(decided(cache))) == ["u1", "u2"]


def test_nobody_goes_for_a_user_who_is_at_a_limit() -> None:
    queue = a_queue("4", user_limits={"cpu": 1000})
    cache = a_cache(a_victim("a", user="ann"), a_victim("b", user="bob"), urgent(user="ann"), queues=[queue])
    assert evicted(cache) == []
    assert list(waiting(decided(cache)).values()) in ([], ["UserLimit"])


def test_a_gang_that_does_not_fit_leaves_no_trace() -> None:
    group = Membership(GroupKey("default", "g"), 2)
    members = [a_pod(name, a_shape(cpu=cpu), group=group, created=1.0) for name, cpu in (("a", "4"), ("b", "3"))]
    cache = a_cache(*members, a_pod("single", a_shape(cpu="3"), created=5.0))
    assert admitted(decided(cache)) == {"single": ("spot", "node-1")}


def test_a_pod_that_asks_nothing_is_placed_by_borrowing_too() -> None:
    root = a_cluster_queue("root", a_quota(cpu="8"))
    queue = a_queue("8", parent="root", when_can_borrow=WhenCanBorrow.TRY_NEXT_FLAVOR)
    shape = replace(a_shape(), requests=(("pods", 1),))
    assert admitted(decided(a_cache(a_pod("idle", shape), queues=[root, queue]))) == {"idle": ("spot", "node-1")}


def test_a_preempted_gang_returns_whole_behind_its_preemptor() -> None:
    group = Membership(GroupKey("default", "train", is_job=True))
    members = [a_victim(f"v{n}", "2", owner=JOB, group=group, created=10.0) for n in range(2)]
    cache = a_cache(*members, queues=[a_queue("4")])
    job = Job(uid="train", namespace="default", name="train", created=5.0, parallelism=2, ignores_disruption=True)
    cache.set_job("train", job)
    cache.put_pod(urgent(cpu="4"))
    assert evicted(cache) == ["v0", "v1"]
    for one in members:
        cache.put_pod(replace(one, is_terminating=True, resource_version="3"))
    cache.drop_pod("v0")
    cache.put_pod(a_pod("v0b", a_shape(cpu="2"), owner=JOB, group=group, created=60.0))
    assert (evicted(cache), admitted(decided(cache))) == ([], {})
    cache.drop_pod("v1")
    assert list(admitted(decided(cache))) == ["urgent"]


def test_only_a_gangs_evictions_are_marked_as_together() -> None:
    gangs = {name: Membership(GroupKey("default", name), 2) for name in "gh"}
    members = [a_victim(f"{name}{n}", group=group) for name, group in gangs.items() for n in range(2)]
    # of a gang of which one goes anyway one is left
    halves = [a_victim(f"i{n}", group=Membership(GroupKey("default", "i"), 2), is_terminating=not n) for n in range(2)]
    cache = a_cache(*members, *halves, a_victim("alone"), queues=[a_queue("8")], nodes=[a_node(cpu="8")])
    cache.put_pod(urgent(cpu="8"))
    marks = {evict.pod.uid: evict.together for evict in decided(cache).evicts}
    assert sorted(marks) == ["alone", "g0", "g1", "h0", "h1", "i1"]
    assert (marks["alone"], marks["i1"]) == ("", "")
    assert marks["g0"] == marks["g1"] != marks["h0"] == marks["h1"] != ""


def test_what_a_gang_lacks_does_not_drive_out_the_gang() -> None:
    group = Membership(GroupKey("default", "g"), 2)
    begun, lacking = a_victim("v", group=group, admitted_at=2.0), urgent("lacking", group=group)
    assert evicted(a_cache(begun, lacking, queues=[a_queue("1")])) == []
    assert evicted(a_cache(begun, a_victim("other"), lacking, queues=[a_queue("2")])) == ["other"]


def test_after_one_refusal_the_others_do_not_go_in_vain() -> None:
    cache = a_cache(a_victim("v0", "2"), a_victim("v1", "2"), urgent(cpu="4"), queues=[a_queue("4")])
    assert evicted(cache) == ["v0", "v1"]
    cache.evictions.refuse("v1", "a budget")
    cache.drop_pod("v0")
    cache.put_pod(a_pod("v0b", a_shape(cpu="2"), owner=WEB, created=60.0))
    decided(cache)
    cache.evictions.retry("v1")
    cache.reopen_all()
    assert evicted(cache) == []


def test_a_refused_victim_is_asked_again_an_hour_later() -> None:
    cache = a_cache(a_victim("v0", "2"), a_victim("v1", "2"), urgent(cpu="4"), queues=[a_queue("4")])
    cache.advance(1000.0)
    for times in (1, 2):
        assert cache.evictions.refuse("v1", "a budget") == times
        cache.retry_eviction("v1")
        assert evicted(cache) == []
    cache.advance(4599.0)
    assert evicted(cache) == []
    assert cache.clocks.next_change() == 4600.0
    cache.advance(4600.0)
    assert evicted(cache) == ["v0", "v1"]
    assert cache.evictions.refuse("v1", "a budget") == 1, "its pauses begin anew too"


def test_a_single_victim_that_was_refused_is_asked_again() -> None:
    cache = a_cache(a_victim("v", "4"), urgent(cpu="4"), queues=[a_queue("4")])
    assert evicted(cache) == ["v"]
    cache.evictions.refuse("v", "a budget")
    assert evicted(cache) == []
    cache.evictions.retry("v")
    cache.reopen_all()
    assert evicted(cache) == ["v"]


def test_a_refused_gang_is_asked_again_if_nobody_goes_in_vain() -> None:
    group = Membership(GroupKey("default", "g"), 2)
    members = [a_victim(f"v{n}", group=group) for n in range(2)]
    cache = a_cache(*members, a_victim("other", "2"), urgent(cpu="2"), queues=[a_queue("4")], nodes=[a_node(cpu="4")])
    for one in (*members, cache.pods["other"]):
        cache.evictions.refuse(one.uid, "a budget")
    assert evicted(cache) == []
    for one in members:
        cache.retry_eviction(one.uid)
    assert evicted(cache) == ["v0", "v1"]


def test_nobody_goes_again_for_whose_release_was_refused() -> None:
    cache = a_cache(a_victim("v", "4"), urgent(cpu="4"), queues=[a_queue("4")])
    assert evicted(cache) == ["v"]
    cache.drop_pod("v")
    assert list(admitted(decided(cache))) == ["urgent"]
    cache.reject("urgent", "no")
    cache.put_pod(a_victim("w", "4"))
    cache.retry("urgent")
    assert evicted(cache) == []


def test_a_job_keeps_its_last_retry() -> None:
    victims = [a_victim(f"v{n}", owner=JOB) for n in range(4)]
    cache = a_cache(*victims, urgent(cpu="4"), queues=[a_queue("4", allow_job_retries=True)])
    cache.set_job("train", Job(uid="train", namespace="default", name="train", backoff_limit=1))
    assert evicted(cache) == []
    cache.set_job("train", Job(uid="train", namespace="default", name="train", backoff_limit=4))
    cache.reopen_all()
    assert len(evicted(cache)) == 4


def test_nobody_waits_for_a_pod_that_does_not_go() -> None:
    going = a_victim("going", "2", is_terminating=True, gone_by=2800.0, grace=1800)
    cache = a_cache(going, a_victim("other", "2"), urgent(cpu="2"), queues=[a_queue("4")])
    cache.advance(2859.0)
    assert evicted(cache) == []
    cache.advance(2860.0)
    assert evicted(cache) == ["other"]
    after_a_restart = a_cache(*cache.pods.values(), queues=[a_queue("4")])
    after_a_restart.advance(2860.0)
    assert evicted(after_a_restart) == ["other"], "it rests on the pod, so whoever starts knows it"


def test_who_goes_anyway_counts_though_it_just_started() -> None:
    queue = a_queue("2", preemption=replace(LOWER, minimum_runtime=600))
    going, old = a_victim("going", admitted_at=650.0, is_terminating=True), a_victim("old")
    cache = a_cache(going, old, urgent(), queues=[queue])
    cache.advance(700.0)
    plan = decided(cache)
    assert (plan.evicts, list(waiting(plan).values())) == ((), ["Preempting"])


def test_a_gang_of_which_somebody_is_just_being_admitted_stays() -> None:
    group = Membership(GroupKey("default", "g"), 2)
    waiting_ones = [a_pod(f"m{n}", a_shape(cpu="2"), group=group, owner=WEB) for n in range(2)]
    cache = a_cache(*waiting_ones, queues=[a_queue("4")])
    first = decided(cache).admits[0]
    shown = replace(waiting_ones[0], gates=(), cluster_queue="team-a", flavor="spot", node="node-1")
    cache.put_pod(replace(shown, resource_version="2"))
    cache.settle(first.uid)
    cache.put_pod(urgent(cpu="2"))
    assert evicted(cache) == []


def test_what_a_growing_gang_lacks_passes_no_other_queue() -> None:
    group = Membership(GroupKey("default", "train", is_job=True))
    job = Job(uid="train", namespace="default", name="train", created=5.0, parallelism=3)
    running = a_victim("t0", owner=JOB, group=group)
    grown = [a_pod(f"t{n}", a_shape(cpu="1"), owner=JOB, group=group, created=60.0) for n in (1, 2)]
    org = a_cluster_queue("org", a_quota(cpu="2"))
    queues = [org, *(a_cluster_queue(n, a_quota(cpu="0"), parent="org") for n in ("team-a", "team-b"))]
    cache = a_cache(running, queues=queues, locals_=[a_local_queue("main", "team-a"), a_local_queue("side", "team-b")])
    cache.set_job("train", job)
    for pod in (*grown, urgent(queue="side", priority=1_000)):
        cache.put_pod(pod)
    assert list(admitted(decided(cache))) == ["urgent"]


def test_reclaiming_needs_no_room_beyond_the_queues_own() -> None:
    org = a_cluster_queue("org", a_quota(cpu="0"))
    mine = a_cluster_queue("team-a", a_quota(cpu="2"), parent="org", preemption=Preemption(reclaim=Reclaim.ANY))
    theirs = a_cluster_queue("team-b", a_quota(cpu="2"), parent="org")
    victims = [a_victim(f"v{n}", "2", cluster_queue="team-b") for n in range(2)]
    cache = a_cache(*victims, urgent(cpu="2", priority=0), queues=[org, mine, theirs])
    assert len(evicted(cache)) == 1


@pytest.mark.parametrize("borrows", [True, False])
def test_who_goes_anyway_elsewhere_spares_others(borrows: bool) -> None:
    policy = Preemption(Within.LOWER_PRIORITY, Reclaim.ANY, borrows=borrows)
    org = a_cluster_queue("org", a_quota(cpu="0"))
    mine = a_cluster_queue("team-a", a_quota(cpu="1"), parent="org", preemption=policy)
    theirs = a_cluster_queue("team-b", a_quota(cpu="3"), parent="org")
    own, low = a_victim("own"), a_victim("low", "2", cluster_queue="team-b")
    going = a_victim("going", cluster_queue="team-b", priority=9, is_terminating=True)
    cache = a_cache(own, low, going, urgent(), queues=[org, mine, theirs])
    plan = decided(cache)
    assert (plan.evicts, list(waiting(plan).values())) == ((), ["Preempting"])
    cache.drop_pod("going")
    assert list(admitted(decided(cache))) == ["urgent"]


LOOSE = GroupKey("default", "train", is_native=True)


def test_the_pods_of_a_pod_group_without_a_gang_go_one_by_one() -> None:
    victims = [a_victim(f"v{number}", group=Membership(LOOSE)) for number in range(3)]
    on_its_way = a_pod("new", group=Membership(LOOSE))
    cache = a_cache(*victims, on_its_way, queues=[a_queue("4")], nodes=[a_node(cpu="4")])
    cache.set_pod_group(LOOSE, PodGroup("default", "train", 0))
    assert list(admitted(decided(cache))) == ["new"]
    cache.put_pod(urgent())
    assert evicted(cache) == ["v0"]


def test_groups_of_one_name_and_of_two_kinds_are_two() -> None:
    labelled = a_victim("labelled", group=Membership(GroupKey("default", "train"), 1))
    native = a_victim("native", group=Membership(LOOSE))
    cache = a_cache(labelled, native, urgent(), queues=[a_queue("2")], nodes=[a_node(cpu="2")])
    cache.set_pod_group(LOOSE, PodGroup("default", "train", 1))
    assert evicted(cache) == ["labelled"]


def test_what_a_user_may_have_is_held_for_a_preemptor_too() -> None:
    flavors = [a_flavor("spot"), a_flavor("steady")]
    quotas = [a_quota(flavor.name, cpu="1") for flavor in flavors]
    queue = a_cluster_queue("team-a", *quotas, preemption=LOWER, user_limits={"cpu": 1000})
    high, low = (
        a_pod(name, a_shape(constraints(selector={"pool": pool}), cpu="1"), user="ann", priority=priority)
        for name, pool, priority in (("high", "spot", 9), ("low", "steady", 0))
    )
    nodes = [a_node("node-1"), a_node("steady-1", labels={"pool": "steady"})]
    cache = a_cache(a_victim("v", user="bob"), high, low, flavors=flavors, queues=[queue], nodes=nodes)
    plan = decided(cache)
    assert ([evict.pod.uid for evict in plan.evicts], admitted(plan)) == (["v"], {})
    cache.drop_pod("v")
    assert list(admitted(decided(cache))) == ["high"]


GIVES_UP: dict[str, Callable[[ClusterCache], object]] = {
    "it is deleted": lambda cache: cache.drop_pod("urgent"),
    "it is held": lambda cache: cache.put_pod(urgent(cpu="2", held="by hand", resource_version="9")),
    "nobody may go": lambda cache: cache.evictions.refuse("v", "a PodDisruptionBudget"),
}


@pytest.mark.parametrize("why", GIVES_UP)
def test_what_a_preemptor_gives_up_goes_to_others_at_once(why: str) -> None:
    small = a_pod("small", a_shape(cpu="1"), created=99.0)
    cache = a_cache(a_victim("v"), urgent(cpu="2"), small, queues=[a_queue("2")], nodes=[a_node(cpu="16")])
    assert evicted(cache) == ["v"]
    GIVES_UP[why](cache)
    assert [*admitted(decided(cache)), *admitted(decided(cache))] == ["small"]


def test_enough_go_though_one_more_would_let_it_borrow() -> None:
    group = Membership(GroupKey("default", "g"), 2)
    theirs = {"queue": "other", "cluster_queue": "other"}
    steady = {**theirs, "flavor": "steady", "node": "node-2"}
    victims = [a_victim(f"v{number}", admitted_at=9.0 - number, **steady) for number in range(3)]
    gang = [a_victim("g-a", "3", group=group, **theirs), a_victim("g-b", group=group, **steady)]
    ours = (a_tree_quota("spot", 0), a_tree_quota("steady", 4000))
    queues = [
        a_cluster_queue("org"),
        a_cluster_queue("team-a", *ours, parent="org", preemption=Preemption(reclaim=Reclaim.ANY)),
        a_cluster_queue("other", a_tree_quota("spot", 3000), a_tree_quota("steady", 0), parent="org"),
    ]
    cache = a_cache(
        *victims,
        *gang,
        urgent(cpu="3"),
        queues=queues,
        locals_=[a_local_queue(), a_local_queue("other", "other")],
        flavors=[a_flavor("spot"), a_flavor("steady")],
        nodes=[a_node("node-1", cpu="3"), a_node("node-2", labels={"pool": "steady"}, cpu="4")],
    )
    assert evicted(cache) == ["v0", "v1", "v2"]
