"""Where a stretch of pods that a Job made at once has to end: what they take leads to somebody else's turn."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller.core.queueing.fair_sharing_policy import USUAL
from controller.core.queueing.queues import ClusterQueue, Flavor, FlavorMode, QueueingStrategy
from controller.core.reasons import Reason
from controller.core.workloads.groups import GroupKey, Membership
from controller.core.workloads.pods import Pod
from tests.support.builders import (
    a_cache,
    a_cluster_queue,
    a_flavor,
    a_local_queue,
    a_node,
    a_pod,
    a_released_pod,
    a_shape,
    a_static_flavor,
    a_tree_quota,
    decided,
    waiting,
)

BACKFILL = QueueingStrategy.BACKFILL


def a_job(name: str, count: int, *, cpu: str = "1", created: int = 0, queue: str = "main") -> list[Pod]:
    shape = a_shape(cpu=cpu)
    return [a_pod(f"{name}-{at}", shape, queue=queue, created=float(created)) for at in range(count)]


def beside_a_reservation(queue: ClusterQueue, flavor: Flavor) -> tuple[int, dict[str, str]]:
    """How many of a Job of three of 1 cpu pass one that needs 5 of 6 cpu as soon as 2 of them are back."""
    node = a_node(cpu="64") if not flavor.is_summed else None
    there = replace(
        a_pod("there", a_shape(cpu="2")),
        gates=(),
        cluster_queue=queue.name,
        flavor=flavor.name,
        node="node-1" if node else "elsewhere",
        started=0,
        expected_runtime=600,
    )
    large = a_pod("large", a_shape(cpu="5"), created=1.0)
    job = a_job("job", 3, created=2)
    cache = a_cache(there, large, *job, nodes=[node] if node else [], flavors=[flavor], queues=[queue])
    plan = decided(cache)
    return len(plan.admits), waiting(plan)


def test_a_stretch_ends_before_reserved_quota() -> None:
    queue = a_cluster_queue("team-a", a_tree_quota("spot", 6000), strategy=BACKFILL)
    count, waits = beside_a_reservation(queue, a_flavor())
    assert (count, waits["main/5000"], waits["main/1000"]) == (1, Reason.QUOTA_EXCEEDED, Reason.WOULD_DELAY)


def test_a_stretch_ends_before_reserved_capacity() -> None:
    queue = a_cluster_queue("team-a", a_tree_quota("licence", 100_000), strategy=BACKFILL)
    count, waits = beside_a_reservation(queue, a_static_flavor(cpu="6"))
    assert (count, waits["main/5000"], waits["main/1000"]) == (1, Reason.NO_CAPACITY, Reason.WOULD_DELAY)


def test_a_later_flavors_hold_ends_what_others_found() -> None:
    """The first may go to either flavor, and takes both of 2 cpu until it is on a node: nothing is left of `two`."""
    org = ClusterQueue(name="org", fair_sharing=USUAL)
    either = (a_tree_quota("two", 8000), a_tree_quota("one", 8000))
    queues = [
        org,
        a_cluster_queue("a", *either, parent="org", flavor_mode=FlavorMode.ANY),
        a_cluster_queue("b", a_tree_quota("two", 8000), parent="org"),
    ]
    pods = [a_pod(name, a_shape(cpu="2"), queue=name, created=float(name == "b")) for name in ("a", "b")]
    doors = [a_local_queue(name, name) for name in ("a", "b")]
    flavors = [a_static_flavor(name, labels={"pool": name}, cpu="2") for name in ("one", "two")]
    plan = decided(a_cache(*pods, flavors=flavors, nodes=[], queues=queues, locals_=doors))
    assert [admit.uid for admit in plan.admits] == ["a"]


@pytest.mark.parametrize("is_fair", [True, False])
@pytest.mark.parametrize("first", [1, 2, 3])
def test_a_gangs_lack_precedes_its_own_queue_only(first: int, *, is_fair: bool) -> None:
    """In queue a, members of priority 1 come first, one of priority 0, then others of priority 1; in b one of those."""
    band = Membership(GroupKey("default", "band"), first + 2)
    org = ClusterQueue(name="org", fair_sharing=USUAL if is_fair else None)
    queues = [org, *(a_cluster_queue(name, a_tree_quota("spot", 16_000), parent="org") for name in ("a", "b"))]
    stamps = {"cluster_queue": "a", "flavor": "spot", "node": "node-1"}
    pods = [
        a_released_pod("runs", a_shape(cpu="1"), queue="a", group=band, **stamps),
        *(a_pod(f"band-{n}", a_shape(cpu="1"), queue="a", group=band, priority=1, created=1.0) for n in range(first)),
        a_pod("band-last", a_shape(cpu="1"), queue="a", group=band, created=2.0),
        *(a_pod(f"later-{n}", a_shape(cpu="1"), queue="a", priority=1, created=3.0) for n in range(5)),
        a_pod("other", a_shape(cpu="1"), queue="b", priority=1, created=4.0),
    ]
    doors = [a_local_queue(name, name) for name in ("a", "b")]
    cache = a_cache(*pods, nodes=[a_node(cpu=str(first + 3))], queues=queues, locals_=doors)
    members = [f"band-{n}" for n in range(first)]
    assert [one.uid for one in decided(cache).admits] == [*members, "other", "band-last"]
