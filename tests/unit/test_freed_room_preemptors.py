"""What a decision makes of classes that may preempt, of which only room on some nodes is new: as the full one."""

from __future__ import annotations

from dataclasses import replace

from controller.cache.cluster import ClusterCache
from controller.core.decide import decide
from controller.core.decisions import Plan
from controller.core.owners import Owner
from controller.core.pods import Pod
from controller.core.preemption_policy import Preemption, Within
from controller.core.queues import ClusterQueue
from tests.support.builders import (
    UNLIMITED,
    a_cache,
    a_cluster_queue,
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
from tests.unit.test_settled import pending

NOW = 100_000.0
WITHIN = Preemption(Within.LOWER_PRIORITY)
WEB = Owner("apps/v1", "ReplicaSet", "web", "web")


def a_world(cpu: str, *queues: ClusterQueue) -> ClusterCache:
    """Two nodes with so many cpus."""
    nodes = [a_node(name, cpu=cpu, pods=20) for name in "ab"]
    cache = a_cache(nodes=nodes, queues=queues, locals_=[a_local_queue(one.name, one.name) for one in queues])
    cache.pass_to(NOW)
    return cache


def a_queue(name: str, **fields: object) -> ClusterQueue:
    return a_cluster_queue(name, a_quota(cpu="100"), **fields)


def runs(name: str, cpu: int, node: str) -> Pod:
    shape = replace(a_shape(cpu=str(cpu)), user="other")
    stamps = {"cluster_queue": "own", "queue": "own", "node": node, "admitted_at": NOW - 9000, "owner": WEB}
    return a_released_pod(name, shape, **stamps)


def waits(name: str, of: str, cpu: int, priority: int) -> Pod:
    return a_pod(name, replace(a_shape(cpu=str(cpu)), user="u"), queue=of, priority=priority, created=NOW)


def in_full(cache: ClusterCache) -> Plan:
    return decide(replace(cache.snapshot(), settled=None, freed=frozenset()), limit=UNLIMITED)


def evicted(plan: Plan) -> list[str]:
    return [one.pod.uid for one in plan.evicts]


def test_nobody_goes_for_a_user_who_comes_to_a_limit_within_the_decision() -> None:
    cache = a_world("2", a_queue("own", preemption=WITHIN, user_limits={"cpu": 3000}))
    for node in "ab":
        cache.put_pod(runs(f"runs-{node}", 1, node))
        cache.put_pod(a_foreign_pod(f"foreign-{node}", a_shape(cpu="1"), node=node))
    for name in ("first", "second"):
        cache.put_pod(waits(name, "own", 2, 5))
    assert evicted(decided(cache)) == []
    cache.drop_pod("foreign-a")
    cache.drop_pod("foreign-b")
    assert pending(cache) == set()
    plan = in_full(cache)
    assert (evicted(plan), plan.preemptors) == (["runs-a"], {"first": 1})
    found = decided(cache)
    assert (evicted(found), found.preemptors) == (["runs-a"], {"first": 1})


def test_what_a_preemptor_held_elsewhere_than_it_comes_in_is_free_for_who_is_next() -> None:
    cache = a_world("4", a_queue("own", preemption=WITHIN), a_queue("next", preemption=WITHIN), a_queue("last"))
    for name in ("goes-first", "goes-then"):
        cache.put_pod(runs(name, 2, "b"))
    cache.put_pod(a_foreign_pod("foreign", a_shape(cpu="4"), node="a"))
    cache.put_pod(waits("preemptor", "own", 4, 9))
    cache.put_pod(waits("next", "next", 2, 5))
    assert sorted(evicted(decided(cache))) == ["goes-first", "goes-then"]
    for name in ("goes-first", "goes-then"):
        cache.put_pod(replace(cache.pods[name], is_terminating=True, resource_version="7"))
    decided(cache)
    cache.drop_pod("goes-first")
    decided(cache)
    decided(cache)
    cache.drop_pod("foreign")
    cache.put_pod(waits("last", "last", 2, 0))
    assert admitted(in_full(cache)) == {"preemptor": ("spot", "a"), "next": ("spot", "b")}
    assert admitted(decided(cache)) == {"preemptor": ("spot", "a"), "next": ("spot", "b")}
