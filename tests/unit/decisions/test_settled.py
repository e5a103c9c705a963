"""What the next decision looks at: counts of classes, since seconds differ from machine to machine."""

from __future__ import annotations

from dataclasses import replace

from controller.cache.cluster import ClusterCache
from controller.core.reasons import Reason
from controller.core.workloads.workload import WorkloadClass
from tests.support.builders import (
    STRICT,
    a_cache,
    a_cluster_queue,
    a_flavor,
    a_foreign_pod,
    a_local_queue,
    a_node,
    a_pod,
    a_quota,
    a_shape,
    decided,
)

MANY = 40


def pending(cache: ClusterCache) -> set[str]:
    """Local queues of the classes that the next decision looks at in any case, if only for whom to preempt."""
    settled = cache.snapshot().settled
    assert settled is not None
    return {kind.queue[1] for kind in (*settled.pending, *settled.stirred)}


def short_of_room(cache: ClusterCache, flavor: str) -> set[WorkloadClass]:
    settled = cache.snapshot().settled
    assert settled is not None
    return {kind for kinds in settled.short_of_room(flavor).values() for kind in kinds}


def many_queues(**fields: object) -> ClusterCache:
    """Queues with a pod that runs and uses up the quota, and one that waits."""
    queues = [a_cluster_queue(f"team-{n}", a_quota(cpu="1"), **fields) for n in range(MANY)]
    doors = [a_local_queue(f"door-{n}", f"team-{n}") for n in range(MANY)]
    pods = [a_pod(f"{what}-{n}", queue=f"door-{n}", created=n) for n in range(MANY) for what in ("runs", "waits")]
    cache = a_cache(*pods, nodes=[a_node(cpu="200", pods="200")], queues=queues, locals_=doors)
    for admit in decided(cache).admits:
        stamps = {"cluster_queue": admit.cluster_queue, "flavor": admit.flavor, "node": admit.node}
        cache.put_pod(replace(cache.pods[admit.uid], gates=(), resource_version="5", **stamps))  # type: ignore[arg-type]
        cache.settle(admit.uid)
    decided(cache)
    return cache


def test_nothing_is_looked_at_again_where_nothing_happened() -> None:
    assert pending(many_queues()) == set()


def test_a_pod_that_ends_opens_the_classes_of_its_own_tree_alone() -> None:
    cache = many_queues()
    cache.put_pod(replace(cache.pods["runs-7"], is_finished=True, resource_version="6"))
    assert pending(cache) == {"door-7"}
    assert [admit.uid for admit in decided(cache).admits] == ["waits-7"]
    assert pending(cache) == set()


def test_the_lines_of_strict_queues_are_looked_at_each_time() -> None:
    assert len(pending(many_queues(strategy=STRICT))) == MANY


def test_room_on_a_node_concerns_only_those_that_found_none_in_its_flavor() -> None:
    flavors = [a_flavor("spot"), a_flavor("steady")]
    nodes = [a_node("a", labels={"pool": "spot"}), a_node("b", labels={"pool": "steady"})]
    queues = [a_cluster_queue(f"team-{one.name}", a_quota(one.name, cpu="64")) for one in flavors]
    doors = [a_local_queue(one.name, f"team-{one.name}") for one in flavors]
    waiting = [a_pod(one.name, a_shape(cpu="3"), queue=one.name) for one in flavors]
    cache = a_cache(*waiting, nodes=nodes, flavors=flavors, queues=queues, locals_=doors)
    for node in "ab":
        cache.put_pod(a_foreign_pod(f"busy-{node}", a_shape(cpu="4"), node=node))
    assert not decided(cache).admits
    assert {kind.queue[1] for kind in short_of_room(cache, "spot")} == {"spot"}
    cache.drop_pod("busy-a")
    assert pending(cache) == set()
    plan = decided(cache)
    assert [admit.uid for admit in plan.admits] == ["spot"]
    assert plan.waits == {}
    assert short_of_room(cache, "spot") == set()


def test_who_finds_freed_room_taken_is_told_what_is_so_of_the_other_nodes_by_now() -> None:
    """Found by `make fuzz-decide`: the last node of a flavor that could never hold the pod was cordoned meanwhile."""
    flavors = [a_flavor("spot"), a_flavor("steady")]
    small, large = a_node("small", cpu="1"), a_node("large", labels={"pool": "steady"})
    queue = a_cluster_queue("team-a", a_quota("spot", cpu="8"), a_quota("steady", cpu="8", pods="1"))
    pods = [a_pod(name, a_shape(cpu="2"), created=at) for at, name in enumerate(("first", "second"))]
    cache = a_cache(*pods, nodes=[small, large], flavors=flavors, queues=[queue])
    cache.put_pod(a_foreign_pod("busy", a_shape(cpu="4"), node="large"))
    assert {wait.reason for wait in decided(cache).waits.values()} == {Reason.NO_CAPACITY}
    cache.put_node(replace(small, is_cordoned=True))
    cache.drop_pod("busy")
    plan = decided(cache)
    assert [admit.uid for admit in plan.admits] == ["first"]
    # the quota of the other flavor is used up, but a node of this one may come back
    assert [wait.reason for wait in plan.waits.values()] == [Reason.NO_CAPACITY]
