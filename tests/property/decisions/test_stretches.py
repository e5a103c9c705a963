"""Pods that Jobs make at once are admitted in stretches: the plan is what it would be if each had a turn of its own."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from controller.cache.cluster import ClusterCache
from controller.core.decision.decide import decide
from controller.core.decision.stretches import Stretches
from controller.core.kubernetes.owners import Owner
from controller.core.queueing.fair_sharing_policy import FairSharing
from controller.core.queueing.preemption_policy import NO_PREEMPTION, Preemption, Reclaim, Within
from controller.core.queueing.queues import ClusterQueue, FlavorMode, QueueingStrategy
from controller.core.snapshot import Snapshot
from controller.core.workloads.decisions import Plan
from controller.core.workloads.pods import Pod
from tests.support.builders import (
    UNLIMITED,
    a_cache,
    a_cluster_queue,
    a_flavor,
    a_local_queue,
    a_node,
    a_pod,
    a_shape,
    a_static_flavor,
    a_tree_quota,
    decided,
)
from tests.support.seeds import examples

TEAMS = ("team-a", "team-b", "team-c")
FLAVORS = (a_flavor("spot"), a_flavor("steady"), a_static_flavor("licence", cpu="5"))
BACKFILL, BEST_EFFORT = QueueingStrategy.BACKFILL, QueueingStrategy.BEST_EFFORT_FIFO
STRICT = QueueingStrategy.STRICT_FIFO
BOTH = Preemption(Within.LOWER_PRIORITY, Reclaim.ANY)
WEB = Owner("apps/v1", "ReplicaSet", "web", "web")
CPUS = ("500m", "1", "1", "2", "4")
MINUTE = 60


@st.composite
def queues(draw: st.DrawFn, name: str, parents: Sequence[str], *, is_fair: bool) -> ClusterQueue:
    flavors = draw(st.sampled_from((("spot",), ("spot", "steady"), ("steady", "spot"), ("licence", "spot"))))
    cpu, limit = st.sampled_from((0, 1000, 2000, 4000)), st.sampled_from((None, None, 1000))
    strategies, policies = (BACKFILL, BACKFILL, BEST_EFFORT, BEST_EFFORT, STRICT), (NO_PREEMPTION, NO_PREEMPTION, BOTH)
    return a_cluster_queue(
        name,
        *(a_tree_quota(one, draw(cpu), borrow=draw(limit), lend=draw(limit)) for one in flavors),
        parent=draw(st.sampled_from(parents)),
        strategy=draw(st.sampled_from(strategies)),
        flavor_mode=draw(st.sampled_from((FlavorMode.ORDERED, FlavorMode.ORDERED, FlavorMode.ANY))),
        preemption=draw(st.sampled_from(policies)),
        limits=draw(st.sampled_from(({}, {}, {"cpu": 5000}))),
        fair_sharing=FairSharing(Fraction(draw(st.integers(0, 2)))) if is_fair else None,
    )


@st.composite
def jobs(draw: st.DrawFn, number: int) -> list[Pod]:
    """So many alike pods, made in the same second as others' are or one after the other."""
    shape = a_shape(cpu=draw(st.sampled_from(CPUS)))
    created, step = draw(st.integers(0, 6)), draw(st.integers(0, 1))
    runtime, priority = draw(st.sampled_from((0, MINUTE, 10 * MINUTE))), draw(st.sampled_from((0, 0, 1)))
    queue = draw(st.sampled_from(TEAMS))
    return [
        a_pod(
            f"job-{number}-{at}",
            shape,
            queue=queue,
            created=float(created + step * at),
            priority=priority,
            expected_runtime=runtime,
        )
        for at in range(draw(st.integers(1, 6)))
    ]


@st.composite
def running(draw: st.DrawFn, number: int) -> Pod:
    flavor, queue = draw(st.sampled_from(("spot", "steady"))), draw(st.sampled_from(TEAMS))
    pod = a_pod(f"running-{number}", a_shape(cpu=draw(st.sampled_from(CPUS))), queue=queue, owner=WEB)
    began = replace(pod, gates=(), cluster_queue=queue, flavor=flavor, node=f"{flavor}-0", started=0)
    return replace(began, expected_runtime=draw(st.integers(1, 12)) * MINUTE)


@st.composite
def worlds(draw: st.DrawFn) -> Snapshot:
    is_fair = draw(st.booleans())
    teams = [draw(queues(name, ("part", "org"), is_fair=is_fair)) for name in TEAMS]
    part = draw(queues("part", ("org",), is_fair=is_fair))
    root = replace(draw(queues("org", ("",), is_fair=is_fair)), limits={})
    nodes = [
        a_node(f"{flavor}-{at}", labels={"pool": flavor}, cpu=draw(st.sampled_from(("2", "3", "6"))))
        for flavor in ("spot", "steady")
        for at in range(draw(st.integers(1, 3)))
    ]
    queued = [pod for number in range(draw(st.integers(1, 5))) for pod in draw(jobs(number))]
    there = [draw(running(number)) for number in range(draw(st.integers(0, 5)))]
    doors = [a_local_queue(name, name) for name in TEAMS]
    cache = a_cache(*queued, *there, flavors=FLAVORS, nodes=nodes, queues=[root, part, *teams], locals_=doors)
    if draw(st.booleans()):
        ended = draw(st.lists(st.integers(0, 11), max_size=4, unique=True))
        go_on(cache, ended)
    return cache.snapshot()


def go_on(cache: ClusterCache, ended: Collection[int]) -> None:
    """Let those in who fit, and some of them end, so that others are known to be blocked, and only some nodes freed."""
    for admit in decided(cache).admits:
        stamps: dict[str, Any] = {"cluster_queue": admit.cluster_queue, "flavor": admit.flavor, "node": admit.node}
        pod = replace(cache.pods[admit.uid], gates=(), resource_version="2", started=0, **stamps)
        cache.put_pod(pod)
        cache.settle(admit.uid)
    decided(cache)
    for number, uid in enumerate(sorted(uid for uid, pod in cache.pods.items() if not pod.gates)):
        if number in ended:
            cache.drop_pod(uid)


def one_by_one(world: Snapshot, limit: int) -> Plan:
    with patch.object(Stretches, "admit", lambda *_: []):
        return decide(world, limit=limit)


@settings(max_examples=examples(500))
@given(worlds(), st.sampled_from((UNLIMITED, UNLIMITED, 3)))
def test_stretches_change_nothing(world: Snapshot, limit: int) -> None:
    plan, slow = decide(world, limit=limit), one_by_one(world, limit)
    assert plan == slow
