"""What opens classes that may preempt where gangs, shares or other preemptors are in play: who is evicted then."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from controller.cache.cluster import ClusterCache
from controller.core.decision.decide import decide
from controller.core.kubernetes.owners import Owner
from controller.core.queueing.fair_sharing_policy import FairSharing, Strategy
from controller.core.queueing.preemption_policy import Preemption, Reclaim, Within
from controller.core.queueing.queues import ClusterQueue
from controller.core.workloads.decisions import Plan
from controller.core.workloads.groups import GroupKey, Membership
from controller.core.workloads.pods import Pod
from tests.support.builders import (
    UNLIMITED,
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
    a_tree_quota,
    decided,
)
from tests.support.snapshots import changed

NOW = 100_000.0
RECLAIMS, WITHIN = Preemption(Within.NEVER, Reclaim.ANY), Preemption(Within.LOWER_PRIORITY)
WEB = Owner("apps/v1", "ReplicaSet", "web", "web")
GANG = Membership(GroupKey("default", "gang"), 2, minimum=1)


def a_world(queues: list[ClusterQueue], *pods: Pod, **nodes: str) -> ClusterCache:
    """Nodes by name, `s...` of `steady`, with so many cpus each; it has come to rest."""
    labels = {name: {"pool": "steady" if name.startswith("s") else "spot"} for name in nodes}
    cache = a_cache(
        nodes=[a_node(name, labels=labels[name], cpu=cpu, pods=20) for name, cpu in nodes.items()],
        flavors=[a_flavor("spot"), a_flavor("steady")],
        queues=queues,
        locals_=[a_local_queue(one.name, one.name) for one in queues],
    )
    cache.advance(NOW)
    for pod in pods:
        cache.put_pod(pod)
    return cache


def runs(name: str, of: str, cpu: int, node: str, **fields: Any) -> Pod:
    flavor = "steady" if node.startswith("s") else "spot"
    stamps = {"queue": of, "cluster_queue": of, "node": node, "flavor": flavor, "admitted_at": NOW - 9000}
    return a_released_pod(name, a_shape(cpu=str(cpu)), **{**stamps, "owner": WEB, **fields})


def waits(name: str, of: str, cpu: int, **fields: Any) -> Pod:
    return a_pod(name, a_shape(cpu=str(cpu)), queue=of, **{"created": NOW, **fields})


def queue(name: str, spot: int, steady: int | None = None, **fields: Any) -> ClusterQueue:
    quotas = [a_quota("spot", cpu=str(spot)), *([] if steady is None else [a_quota("steady", cpu=str(steady))])]
    return a_cluster_queue(name, *quotas, **{"parent": "org", **fields})


def evicted(cache: ClusterCache) -> list[str]:
    return [evict.pod.uid for evict in decided(cache).evicts]


def at_rest(cache: ClusterCache) -> ClusterCache:
    plan = decided(cache)
    assert (plan.admits, plan.evicts) == ((), ())
    return cache


def test_admission_in_one_flavor_moves_shares_in_another() -> None:
    org = ClusterQueue(name="org", fair_sharing=FairSharing(strategies=(Strategy.LESS_THAN_OR_EQUAL_TO_FINAL_SHARE,)))
    queues = [org, queue("owns", 2, preemption=RECLAIMS), queue("lends", 3, 3), queue("borrows", 0, 1)]
    cache = at_rest(a_world(queues, runs("spot", "borrows", 3, "a"), waits("first", "owns", 3), a="3", s="3"))
    cache.put_pod(runs("steady", "borrows", 3, "s"))
    assert evicted(cache) == ["spot"]


def test_who_fitted_no_node_may_have_others_go_on_a_larger_one() -> None:
    queues = [ClusterQueue(name="org"), queue("owns", 5, preemption=RECLAIMS), queue("borrows", 0)]
    cache = at_rest(a_world(queues, runs("there", "borrows", 2, "a"), waits("large", "owns", 3), a="2"))
    cache.put_node(a_node("a", cpu="4", pods=20))
    assert evicted(cache) == ["there"]


def test_a_gang_is_preemptible_after_its_quiet_member() -> None:
    queues = [ClusterQueue(name="org"), queue("owns", 2, preemption=RECLAIMS), queue("borrows", 0, 0)]
    quiet = runs("quiet", "borrows", 1, "s", group=GANG, preemptions=6, admitted_at=NOW - 600)
    pods = quiet, runs("other", "borrows", 2, "a", group=GANG), waits("first", "owns", 2)
    for goes in (True, False):
        cache = at_rest(a_world(queues, *pods, a="2", s="1"))
        if goes:
            cache.drop_pod("quiet")
        else:
            cache.advance(NOW + 3000)
        assert sorted(evicted(cache)) == (["other"] if goes else ["other", "quiet"])


def test_minimum_runtime_ends_before_the_quiet_time() -> None:
    own = queue("own", 1, preemption=replace(WITHIN, minimum_runtime=600))
    pod = runs("runs", "own", 1, "a", preemptions=3, admitted_at=NOW - 100, started=int(NOW) - 100)
    cache = at_rest(a_world([ClusterQueue(name="org"), own], pod, waits("first", "own", 1, priority=2), a="1"))
    assert cache.clocks.next_change() == NOW + 500
    cache.advance(NOW + 500)
    assert evicted(cache) == ["runs"]


def test_freed_room_lets_a_borrowing_gang_go_elsewhere() -> None:
    queues = [ClusterQueue(name="org"), queue("owns", 4, 4, preemption=RECLAIMS), queue("borrows", 4, 2)]
    gang = [runs(name, "borrows", 1, node, group=GANG) for name, node in (("gang-1", "s"), ("gang-2", "a"))]
    others = runs("ends", "borrows", 1, "a"), runs("more", "borrows", 2, "s")
    cache = at_rest(a_world(queues, *gang, *others, waits("first", "owns", 3), a="3", s="3"))
    cache.drop_pod("ends")
    assert sorted(evicted(cache)) == ["gang-1", "gang-2"]


def test_a_gang_whose_latest_member_ends_lets_others_go_first() -> None:
    # as long as the gang comes first nobody else has to go: without it "borrows" borrows nothing
    queues = [ClusterQueue(name="org"), queue("owns", 2, preemption=RECLAIMS), queue("borrows", 2, 1)]
    late = {"gang-1": ("b", 9000), "gang-2": ("s", 10)}
    gang = [runs(name, "borrows", 1, node, group=GANG, admitted_at=NOW - ago) for name, (node, ago) in late.items()]
    there = runs("there", "borrows", 2, "a", admitted_at=NOW - 100)
    cache = at_rest(a_world(queues, *gang, there, waits("first", "owns", 2), a="2", b="1", s="1"))
    cache.drop_pod("gang-2")
    assert evicted(cache) == ["there"]


def test_within_queue_preemption_sees_others_victims() -> None:
    # two are left of what "large" gives back, and one of them is held: with "mine" gone "second" fits
    takes = Preemption(Within.NEVER, Reclaim.LOWER_PRIORITY, borrows=True)
    queues = [ClusterQueue(name="org"), queue("own", 1, preemption=WITHIN), queue("takes", 0, preemption=takes)]
    queues += [queue("lends", 1), queue("borrows", 0)]
    pods = runs("mine", "own", 1, "b"), runs("large", "borrows", 3, "a")
    cache = a_world(
        queues, *pods, waits("second", "own", 1, priority=2), waits("first", "takes", 1, priority=1), a="5", b="1"
    )
    found = decided(cache)
    assert [evict.pod.uid for evict in found.evicts] == ["large"]
    cache.put_pod(replace(cache.pods["large"], is_terminating=True, resource_version="9"))
    assert evicted(cache) == ["mine"]


@pytest.mark.parametrize("has_gone_before", [False, True])
def test_leaving_pods_count_the_same_after_a_preemption(has_gone_before: bool) -> None:
    """Once `goes` is gone `borrows` has no more cpu than is its own, so nobody of it goes for cpu."""
    mild = Preemption(reclaim=Reclaim.LOWER_PRIORITY)
    queues = [
        ClusterQueue(name="org", fair_sharing=FairSharing()),
        a_cluster_queue("owns", a_quota("spot", cpu="2", memory="2G"), parent="org", preemption=mild),
        a_cluster_queue("borrows", a_quota("spot", cpu="2", memory="2G"), parent="org"),
        a_cluster_queue("high", a_quota("spot", cpu="2", memory="2G"), parent="org"),
        a_cluster_queue("apart", a_quota("spot", cpu="1", memory="2G"), preemption=Preemption(Within.LOWER_PRIORITY)),
    ]

    def there(name: str, of: str, priority: int = 0, **amounts: str) -> Pod:
        placed = {"queue": of, "cluster_queue": of, "node": "a", "owner": WEB, "admitted_at": 1.0, "priority": priority}
        return a_released_pod(name, a_shape(**amounts), **placed)

    pods = [
        replace(there("goes", "borrows", cpu="1"), is_terminating=True),
        there("memory", "borrows", cpu="2", memory="3G"),
        there("high", "high", 10, cpu="3"),
        there("apart", "apart", cpu="1"),
        a_pod("first", a_shape(memory="1G"), queue="owns", priority=5, created=1.0),
        a_pod("waits", a_shape(cpu="2"), queue="owns", priority=5, created=2.0),
    ]
    if has_gone_before:
        pods.append(a_pod("urgent", a_shape(cpu="1"), queue="apart", priority=9, created=float(NOW)))
    nodes = [a_node("a", cpu="64", memory="64G", pods=100)]
    cache = a_cache(*pods, nodes=nodes, queues=queues, locals_=[a_local_queue(one.name, one.name) for one in queues])
    assert evicted(cache) == ["apart"] * has_gone_before


def in_full(cache: ClusterCache) -> Plan:
    return decide(changed(cache.snapshot(), asked=None), limit=UNLIMITED)


def of_user(pod: Pod, user: str) -> Pod:
    return replace(pod, shape=replace(pod.shape, user=user))


def test_a_user_limit_reached_in_a_decision_stops_preemption() -> None:
    foreign = [a_foreign_pod(f"foreign-{node}", a_shape(cpu="1"), node=node) for node in "ab"]
    run = [of_user(runs(f"runs-{node}", "own", 1, node), "other") for node in "ab"]
    wait = [of_user(waits(name, "own", 2, priority=5), "u") for name in ("first", "second")]
    own = queue("own", 100, parent="", preemption=WITHIN, user_limits={"cpu": 3000})
    cache = at_rest(a_world([own], *run, *foreign, *wait, a="2", b="2"))
    cache.drop_pod("foreign-a")
    cache.drop_pod("foreign-b")
    for plan in (in_full(cache), decided(cache)):
        assert ([evict.pod.uid for evict in plan.evicts], plan.preemptors) == (["runs-a"], {"first": 1})


def test_moved_shares_alone_let_nobody_go() -> None:
    """Two queues have borrowed as much as each other, and room alone is short; a third one's pod ends elsewhere."""
    org = ClusterQueue(name="org", fair_sharing=FairSharing())
    queues = [org, queue("lends", 9, 9), queue("one", 0, preemption=RECLAIMS), queue("other", 0, 0)]
    there = [runs("of-one", "one", 2, "a"), runs("of-other", "other", 2, "a")]
    ends = runs("ends", "lends", 1, "s")
    cache = at_rest(a_world(queues, *there, ends, waits("more", "one", 1), a="4", s="1"))
    cache.drop_pod("ends")
    plan = decided(cache)
    assert not plan.evicts
    # and once the other borrows more, it does
    cache.put_pod(runs("late", "other", 2, "s"))
    assert evicted(cache) == ["of-other"]


def test_victims_of_another_let_more_go() -> None:
    """One reclaims from b, which has borrowed most; only beside that has b less than c, and may have one of c's go."""
    org = ClusterQueue(name="org", fair_sharing=FairSharing())
    queues = [org, queue("owns", 3, preemption=RECLAIMS), queue("b", 1, preemption=RECLAIMS), queue("c", 1)]
    of_b = [runs(f"b{n}", "b", cpu, "n1", admitted_at=NOW - 100 * n) for n, cpu in enumerate((3, 1, 1), 1)]
    of_c = [runs(f"c{n}", "c", cpu, "n1") for n, cpu in enumerate((1, 1, 2), 1)]
    cache = at_rest(a_world([*queues, queue("lends", 4)], *of_b, *of_c, waits("more", "b", 1), n1="50"))
    cache.put_pod(waits("reclaims", "owns", 3, priority=5))
    assert evicted(cache) == ["b1", "c1"]


def test_a_pod_of_a_new_root_yields_to_nobody() -> None:
    org = a_cluster_queue("org", a_tree_quota("spot", 2000), fair_sharing=FairSharing())
    team = a_cluster_queue("team", a_tree_quota("spot", 6000, lend=0), parent="org", preemption=RECLAIMS)
    others = [a_foreign_pod(f"other-{n}", a_shape(cpu="1"), node="n1") for n in (1, 2)]
    cache = a_world([org, team], runs("old", "org", 4, "n1"), *others, waits("p", "team", 3), n1="6")
    assert decided(cache).waits
    cache.drop_pod("other-1")
    plan = decided(cache)
    assert (plan.admits, plan.evicts) == ((), ())
