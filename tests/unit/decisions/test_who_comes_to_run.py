"""Who comes to run opens those who may preempt it, or others of its queue, which borrows by it: whoever admitted it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from controller.cache.cluster import ClusterCache
from controller.core.kubernetes.owners import Owner
from controller.core.queueing.preemption_policy import Preemption, Reclaim
from controller.core.queueing.queues import ClusterQueue
from controller.core.workloads.pods import Pod
from tests.support.builders import (
    a_cache,
    a_cluster_queue,
    a_foreign_pod,
    a_local_queue,
    a_node,
    a_pod,
    a_quota,
    a_released_pod,
    a_shape,
    constraints,
    decided,
)

WEB = Owner("apps/v1", "ReplicaSet", "web", "web")
ON_A, ON_B = (a_shape(constraints(selector={"is": name}), cpu="2") for name in "ab")
THEIRS: dict[str, Any] = {"queue": "other", "owner": WEB}
COMES = a_released_pod("comes", ON_B, node="b", cluster_queue="other", admitted_at=5.0, resource_version="5", **THEIRS)
RUNS = a_released_pod("runs", ON_A, node="a", cluster_queue="other", admitted_at=9.0, **THEIRS)
WAITS = a_pod("waits", ON_A, queue="wants", priority=5)


class World:
    """`wants` takes back what `other` borrows of it; `woken` counts how often the decision was."""

    def __init__(self, *pods: Pod, owned: str, has_b: bool = False) -> None:
        self.woken = 0
        self.cache: ClusterCache = a_cache(
            *pods,
            WAITS,
            nodes=[
                a_node(name, labels={"pool": "spot", "is": name}, cpu="2", is_usable=has_b or name == "a")
                for name in "ab"
            ],
            queues=[
                ClusterQueue(name="org"),
                a_cluster_queue("wants", a_quota(cpu="2"), parent="org", preemption=Preemption(reclaim=Reclaim.ANY)),
                a_cluster_queue("other", a_quota(cpu=owned), parent="org"),
            ],
            locals_=[a_local_queue(name, name) for name in ("wants", "other")],
            on_change=self.wake,
        )

    def wake(self) -> None:
        self.woken += 1


@pytest.mark.parametrize(
    "former",
    [a_pod("comes", ON_B, **THEIRS), a_foreign_pod("comes", ON_B, node="b", owner=WEB)],
    ids=["the leader before admitted it", "it is adopted"],
)
def test_a_pod_admitted_by_another_leader_wakes_preemptors(former: Pod) -> None:
    world = World(RUNS, former, owned="2")
    cache = world.cache
    assert not decided(cache).evicts
    before = world.woken
    cache.put_pod(COMES)
    assert world.woken > before
    assert [evict.pod.name for evict in decided(cache).evicts] == ["runs"]


def test_a_late_stamp_wakes_preemptors() -> None:
    world = World(replace(RUNS, cluster_queue=None, flavor=None), owned="0")
    cache = world.cache
    assert not decided(cache).evicts
    before = world.woken
    cache.put_pod(replace(RUNS, resource_version="3"))
    assert world.woken > before
    assert [evict.pod.name for evict in decided(cache).evicts] == ["runs"]
