"""More may come free beside a reservation that itself stays the same: who waits behind it is let in at once then.

None of these worlds is one that the property tests of `test_incremental` draw.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from controller.cache.cluster import ClusterCache
from controller.core.decisions import Booking
from controller.core.groups import GroupKey, Membership
from controller.core.nodes import Node
from controller.core.owners import Owner
from controller.core.pods import Pod
from controller.core.preemption_policy import Preemption, Within
from controller.core.queues import ClusterQueue, QueueingStrategy
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
    admitted,
    constraints,
    decided,
)

HOUR = 3600
Event = Callable[[ClusterCache], None]
HERE = constraints(selector={"host": "here"})


def node(name: str, cpu: int) -> Node:
    return a_node(name, labels={"pool": "spot", "host": name}, cpu=str(cpu))


def queue(name: str, cpu: str, *, backfills: bool = True, **fields: Any) -> ClusterQueue:
    strategy = QueueingStrategy.BACKFILL if backfills else QueueingStrategy.BEST_EFFORT_FIFO
    return a_cluster_queue(name, a_quota(cpu=cpu), strategy=strategy, **fields)


def runs(name: str, cpu: str, hours: float, team: str, **fields: Any) -> Pod:
    known = {"admitted_at": 1.0, "started": 1, "node": "here", "expected_runtime": int(hours * HOUR)}
    return a_released_pod(name, a_shape(cpu=cpu), **{**known, "queue": team, "cluster_queue": team, **fields})


def waits(name: str, cpu: str, hours: float, team: str, created: float, **fields: Any) -> Pod:
    shape = a_shape(HERE if team != "gang" else None, cpu=cpu)
    return a_pod(name, shape, queue=team, created=created, expected_runtime=int(hours * HOUR), **fields)


def world(*pods: Pod, nodes: list[Node], queues: list[ClusterQueue]) -> ClusterCache:
    """Each queue has a local queue of its name; `last` waits in the one that does not backfill, for the node `here`."""
    those = [*queues, queue("behind", "8", backfills=False)]
    doors = [a_local_queue(one.name, one.name) for one in those]
    cache = a_cache(*pods, nodes=nodes, queues=those, locals_=doors)
    cache.pass_to(60.0)
    return cache


def reservations(cache: ClusterCache) -> set[Booking]:
    found = (cache.reasons.of(kind).booking for kind in cache.backlog.runs)
    return {one for one in found if one is not None}


def one_before_it_is_deleted() -> tuple[ClusterCache, Event]:
    """The reservation before it does not bind `last`, which is over by then, but takes of what is left beside."""
    cache = world(
        runs("y", "1", 10, "zero", node="there"),
        runs("x", "1", 1, "one", node="there"),
        waits("r0", "2", 9, "zero", 10.0),
        waits("r1", "4", 9, "one", 11.0),
        waits("last", "4", 5, "behind", 20.0),
        nodes=[node("here", 8), node("there", 2)],
        queues=[queue("zero", "2"), queue("one", "4")],
    )
    return cache, lambda it: it.drop_pod("r0")


def one_before_it_runs_shorter() -> tuple[ClusterCache, Event]:
    """The workload that has the reservation before it comes to say that it is over by then."""
    first = waits("r0", "2", 100, "zero", 10.0)
    cache = world(
        runs("x", "1", 1, "zero", node="there"),
        runs("y", "4", 3, "one"),
        first,
        waits("r1", "6", 9, "one", 11.0),
        waits("last", "2", 0, "behind", 20.0),
        nodes=[node("here", 8), node("there", 1)],
        queues=[queue("zero", "2"), queue("one", "50")],
    )
    return cache, lambda it: it.put_pod(replace(first, expected_runtime=HOUR, resource_version="3"))


def more_of_unknown_runtime_count_as_ended() -> tuple[ClusterCache, Event]:
    """Who holds longest is expected to end first: a start that is told late lets another count as ended before."""
    first = runs("p1", "4", 0, "zero", admitted_at=10.0, started=0)
    cache = world(
        first,
        runs("p2", "2", 0, "zero", admitted_at=20.0, started=25),
        waits("r0", "6", 1, "zero", 30.0),
        waits("last", "2", 0, "behind", 40.0),
        nodes=[node("here", 8)],
        queues=[queue("zero", "20")],
    )
    return cache, lambda it: it.put_pod(replace(first, started=30, resource_version="3"))


def a_gang_is_divided_otherwise() -> tuple[ClusterCache, Event]:
    """The places of a gang are on the same nodes, but more of its pods on the one where there is more room now."""
    group = Membership(GroupKey("default", "g"), 3)
    cache = world(
        runs("r", "1", 1, "gang", node="elsewhere"),
        a_foreign_pod("alien", a_shape(cpu="2"), node="there"),
        *(waits(f"g.{number}", "2", 5, "gang", 10.0, group=group) for number in range(3)),
        waits("last", "4", 0, "behind", 20.0),
        nodes=[node("here", 6), node("there", 5), node("elsewhere", 1)],
        queues=[queue("gang", "6")],
    )
    return cache, lambda it: it.drop_pod("alien")


def a_pod_there_comes_to_be_expected_to_end() -> tuple[ClusterCache, Event]:
    """A pod that nobody was charged for is adopted: before, it was never expected to end."""
    cache = world(
        runs("x", "2", 1, "zero"),
        a_foreign_pod("f", a_shape(cpu="2"), node="here"),
        waits("r0", "4", 5, "zero", 11.0),
        waits("last", "4", 0, "behind", 20.0),
        nodes=[node("here", 8)],
        queues=[queue("zero", "4"), queue("one", "2")],
    )
    return cache, lambda it: it.put_pod(runs("f", "2", 0.25, "one", resource_version="3"))


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
def test_who_waits_behind_a_reservation_is_let_in_as_soon_as_more_is_left_beside_it(
    drawn: Callable[[], tuple[ClusterCache, Event]],
) -> None:
    cache, happens = drawn()
    assert admitted(decided(cache)) == admitted(decided(cache)) == {}
    before = reservations(cache)
    happens(cache)
    assert list(admitted(decided(cache))) == ["last"]
    assert reservations(cache)
    assert reservations(cache) <= before


def test_what_was_held_for_a_preemptor_is_expected_to_end_once_it_is_in() -> None:
    web = Owner("apps/v1", "ReplicaSet", "web", "web")
    victim = runs("v", "2", 0, "urgent", node="there", owner=web)
    cache = world(
        runs("x", "2", 1, "zero"),
        victim,
        waits("p", "2", 0.25, "urgent", 10.0, priority=5),
        waits("r0", "4", 5, "zero", 11.0),
        waits("last", "4", 0, "behind", 20.0),
        nodes=[node("here", 8), node("there", 2)],
        queues=[queue("zero", "4"), queue("urgent", "2", preemption=Preemption(Within.LOWER_PRIORITY))],
    )
    decided(cache)
    cache.put_pod(replace(victim, is_terminating=True, gone_by=5000.0, grace=5000, resource_version="3"))
    assert admitted(decided(cache)) == {}
    cache.drop_pod("v")
    assert list(admitted(decided(cache))) == ["p", "last"]


def test_who_waits_behind_a_reservation_preempts_once_others_took_what_was_free() -> None:
    web = Owner("apps/v1", "ReplicaSet", "web", "web")
    lower = Preemption(Within.LOWER_PRIORITY)
    cache = world(
        runs("x", "6", 1, "zero"),
        runs("v", "2", 0, "urgent", node="there", owner=web),
        waits("r0", "8", 5, "zero", 11.0, priority=3),
        a_pod("p", a_shape(cpu="2"), queue="urgent", created=20.0, priority=2),
        nodes=[node("here", 8), node("there", 2)],
        queues=[queue("zero", "50"), queue("urgent", "8", backfills=False, preemption=lower)],
    )
    assert decided(cache).evicts == decided(cache).evicts == ()
    cache.put_pod(waits("brief", "2", 0.25, "behind", 30.0))
    assert list(admitted(decided(cache))) == ["brief"]
    assert [one.pod.uid for one in decided(cache).evicts] == ["v"]
