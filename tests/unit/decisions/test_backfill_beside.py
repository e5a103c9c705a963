"""More may come free beside a reservation that itself stays the same: who waits behind it is let in at once then.

None of these worlds is one that the property tests of `test_whom_to_look_at` draw.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from controller.cache.cluster import ClusterCache
from controller.core.kubernetes.nodes import Node
from controller.core.kubernetes.owners import Owner
from controller.core.queueing.preemption_policy import Preemption, Within
from controller.core.queueing.queues import ClusterQueue
from controller.core.workloads.groups import GroupKey, Membership
from controller.core.workloads.pods import Pod
from tests.support.backfilling import HOUR, a_world, backfilling, reservations, runs, waits
from tests.support.builders import (
    a_cluster_queue,
    a_foreign_pod,
    a_local_queue,
    a_node,
    a_pod,
    a_quota,
    a_shape,
    admitted,
    constraints,
    decided,
)

Event = Callable[[ClusterCache], None]
HERE = constraints(selector={"host": "here"})


def node(name: str, cpu: int) -> Node:
    return a_node(name, labels={"pool": "spot", "host": name}, cpu=str(cpu))


def running(name: str, cpu: str, hours: float, team: str, **fields: Any) -> Pod:
    """A pod of a queue that runs, on the node `here` unless it is said otherwise."""
    return runs(name, cpu, hours, **{"node": "here", "queue": team, "cluster_queue": team, **fields})


def world(*pods: Pod, nodes: list[Node], queues: list[ClusterQueue]) -> ClusterCache:
    """Each queue has a local queue of its name; `last` waits in the one that does not backfill, for the node `here`."""
    those = (*queues, a_cluster_queue("behind", a_quota(cpu="8")))
    return a_world(*pods, nodes=nodes, queues=those, locals_=[a_local_queue(one.name, one.name) for one in those])


def one_before_it_is_deleted() -> tuple[ClusterCache, Event]:
    """The reservation before it does not bind `last`, which is over by then, but takes of what is left beside."""
    cache = world(
        running("y", "1", 10, "zero", node="there"),
        running("x", "1", 1, "one", node="there"),
        waits("r0", "2", 9, queue="zero", created=10.0, where=HERE),
        waits("r1", "4", 9, queue="one", created=11.0, where=HERE),
        waits("last", "4", 5, queue="behind", created=20.0, where=HERE),
        nodes=[node("here", 8), node("there", 2)],
        queues=[backfilling("zero", "2"), backfilling("one", "4")],
    )
    return cache, lambda it: it.drop_pod("r0")


def one_before_it_runs_shorter() -> tuple[ClusterCache, Event]:
    """The workload that has the reservation before it comes to say that it is over by then."""
    first = waits("r0", "2", 100, queue="zero", created=10.0, where=HERE)
    cache = world(
        running("x", "1", 1, "zero", node="there"),
        running("y", "4", 3, "one"),
        first,
        waits("r1", "6", 9, queue="one", created=11.0, where=HERE),
        waits("last", "2", 0, queue="behind", created=20.0, where=HERE),
        nodes=[node("here", 8), node("there", 1)],
        queues=[backfilling("zero", "2"), backfilling("one", "50")],
    )
    return cache, lambda it: it.put_pod(replace(first, expected_runtime=HOUR, resource_version="3"))


def more_of_unknown_runtime_count_as_ended() -> tuple[ClusterCache, Event]:
    """Who holds longest is expected to end first: a start that is told late lets another count as ended before."""
    first = running("p1", "4", 0, "zero", admitted_at=10.0, started=0)
    cache = world(
        first,
        running("p2", "2", 0, "zero", admitted_at=20.0, started=25),
        waits("r0", "6", 1, queue="zero", created=30.0, where=HERE),
        waits("last", "2", 0, queue="behind", created=40.0, where=HERE),
        nodes=[node("here", 8)],
        queues=[backfilling("zero", "20")],
    )
    return cache, lambda it: it.put_pod(replace(first, started=30, resource_version="3"))


def a_gang_is_divided_otherwise() -> tuple[ClusterCache, Event]:
    """The places of a gang are on the same nodes, but more of its pods on the one where there is more room now."""
    group = Membership(GroupKey("default", "g"), 3)
    cache = world(
        running("r", "1", 1, "gang", node="elsewhere"),
        a_foreign_pod("alien", a_shape(cpu="2"), node="there"),
        *(waits(f"g.{number}", "2", 5, queue="gang", created=10.0, group=group) for number in range(3)),
        waits("last", "4", 0, queue="behind", created=20.0, where=HERE),
        nodes=[node("here", 6), node("there", 5), node("elsewhere", 1)],
        queues=[backfilling("gang", "6")],
    )
    return cache, lambda it: it.drop_pod("alien")


def a_pod_there_comes_to_be_expected_to_end() -> tuple[ClusterCache, Event]:
    """A pod that nobody was charged for is adopted: before, it was never expected to end."""
    cache = world(
        running("x", "2", 1, "zero"),
        a_foreign_pod("f", a_shape(cpu="2"), node="here"),
        waits("r0", "4", 5, queue="zero", created=11.0, where=HERE),
        waits("last", "4", 0, queue="behind", created=20.0, where=HERE),
        nodes=[node("here", 8)],
        queues=[backfilling("zero", "4"), backfilling("one", "2")],
    )
    return cache, lambda it: it.put_pod(running("f", "2", 0.25, "one", resource_version="3"))


@pytest.mark.parametrize(
    "drawn",
    [
        one_before_it_is_deleted,
        one_before_it_runs_shorter,
        more_of_unknown_runtime_count_as_ended,
        a_gang_is_divided_otherwise,
        a_pod_there_comes_to_be_expected_to_end,
    ],
)
def test_more_room_beside_a_reservation_admits_at_once(
    drawn: Callable[[], tuple[ClusterCache, Event]],
) -> None:
    cache, happens = drawn()
    assert admitted(decided(cache)) == admitted(decided(cache)) == {}
    before = reservations(cache)
    happens(cache)
    assert list(admitted(decided(cache))) == ["last"]
    assert reservations(cache)
    assert reservations(cache) <= before


def test_a_preemptors_hold_ends_once_it_is_admitted() -> None:
    web = Owner("apps/v1", "ReplicaSet", "web", "web")
    victim = running("v", "2", 0, "urgent", node="there", owner=web)
    cache = world(
        running("x", "2", 1, "zero"),
        victim,
        waits("p", "2", 0.25, queue="urgent", created=10.0, where=HERE, priority=5),
        waits("r0", "4", 5, queue="zero", created=11.0, where=HERE),
        waits("last", "4", 0, queue="behind", created=20.0, where=HERE),
        nodes=[node("here", 8), node("there", 2)],
        queues=[backfilling("zero", "4"), backfilling("urgent", "2", preemption=Preemption(Within.LOWER_PRIORITY))],
    )
    decided(cache)
    cache.put_pod(replace(victim, is_terminating=True, gone_by=5000.0, grace=5000, resource_version="3"))
    assert admitted(decided(cache)) == {}
    cache.drop_pod("v")
    assert list(admitted(decided(cache))) == ["p", "last"]


def test_a_pod_behind_a_reservation_preempts_later() -> None:
    web = Owner("apps/v1", "ReplicaSet", "web", "web")
    lower = Preemption(Within.LOWER_PRIORITY)
    cache = world(
        running("x", "6", 1, "zero"),
        running("v", "2", 0, "urgent", node="there", owner=web),
        waits("r0", "8", 5, queue="zero", created=11.0, where=HERE, priority=3),
        a_pod("p", a_shape(cpu="2"), queue="urgent", created=20.0, priority=2),
        nodes=[node("here", 8), node("there", 2)],
        queues=[backfilling("zero", "50"), a_cluster_queue("urgent", a_quota(cpu="8"), preemption=lower)],
    )
    assert decided(cache).evicts == decided(cache).evicts == ()
    cache.put_pod(waits("brief", "2", 0.25, queue="behind", created=30.0, where=HERE))
    assert list(admitted(decided(cache))) == ["brief"]
    assert [one.pod.uid for one in decided(cache).evicts] == ["v"]
