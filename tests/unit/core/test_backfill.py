"""Backfill where it could go wrong: several reservations, what is learned later, and who may not have one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf

import pytest

from controller.cache.cluster import ClusterCache
from controller.core.backfill import easy
from controller.core.backfill.easy import Backfill
from controller.core.decision.decide import decide
from controller.core.forecasts.forecast import USUAL_DEPTH
from controller.core.forecasts.run_history import LEAST
from controller.core.kubernetes.owners import Job, Owner
from controller.core.ledgers.ledger import Ledger
from controller.core.queueing.fair_sharing_policy import USUAL
from controller.core.queueing.preemption_policy import Preemption, Within
from controller.core.reasons import Reason
from controller.core.workloads.groups import GroupKey, Membership
from controller.core.workloads.topology import Slices, Topology
from controller.core.workloads.workload import Workload, WorkloadClass
from tests.support.backfilling import HOUR, a_world, backfilling, kept, reservations, runs, waits
from tests.support.builders import (
    UNLIMITED,
    a_cluster_queue,
    a_local_queue,
    a_node,
    a_quota,
    a_released_pod,
    a_shape,
    admitted,
    constraints,
    decided,
)

Runs = Mapping[WorkloadClass, Sequence[Workload]]
JOB = Owner("batch/v1", "Job", "train", "train")


def test_a_second_queues_reservation_binds_as_well() -> None:
    doors = [a_local_queue(), a_local_queue("other", "team-b")]
    cache = a_world(
        runs("r", "8", 1),
        waits("first", "6", 2),
        waits("second", "4", 2, queue="other", created=11.0),
        waits("long", "1", 9, queue="other", created=12.0),
        waits("brief", "1", 1.5, queue="other", created=13.0),
        queues=(backfilling(), backfilling("team-b", "8")),
        locals_=doors,
    )
    decided(cache)
    assert kept(cache) == {"first": HOUR + 1, "second": 3 * HOUR + 1}


def test_what_is_learned_of_an_end_lets_others_pass_at_once() -> None:
    second = runs("second", "4", 9)
    cache = a_world(runs("first", "2", 1), second, waits("large", "4", 1), waits("long", "2", 9, created=11.0))
    decided(cache)
    assert kept(cache) == {"large": HOUR + 1}
    assert admitted(decided(cache)) == {}
    cache.put_pod(replace(second, expected_runtime=HOUR, resource_version="3"))
    assert list(admitted(decided(cache))) == ["long"]
    assert kept(cache) == {"large": HOUR + 1}


def test_a_job_that_is_known_later_says_when_its_pods_end() -> None:
    cache = a_world(runs("r", "6", 0, owner=JOB), waits("large", "8"))
    decided(cache)
    assert kept(cache) == {"large": inf}
    cache.set_job("train", Job(uid="train", namespace="default", name="train", started=0.5, deadline=HOUR))
    decided(cache)
    assert kept(cache) == {"large": HOUR + 0.5}


def test_freed_room_is_kept_until_nothing_is_kept_there() -> None:
    cache = a_world(
        runs("r", "6", 1),
        runs("s", "2", 9),
        waits("large", "8", 1),
        waits("long", "2", 9, created=11.0),
        queues=(backfilling(cpu="99"),),
    )
    decided(cache)
    cache.drop_pod("s")
    assert admitted(decided(cache)) == {}
    cache.drop_pod("large")
    assert list(admitted(decided(cache))) == ["long"]


def test_freed_quota_beside_a_reservation_is_given_at_once() -> None:
    cache = a_world(
        runs("r", "4", 1),
        runs("nowhere", "2", 9, node=None),
        waits("large", "6", 1),
        waits("long", "2", 9, created=11.0),
        cpu="99",
        queues=(backfilling(),),
    )
    decided(cache)
    assert admitted(decided(cache)) == {}
    cache.drop_pod("nowhere")
    assert list(admitted(decided(cache))) == ["long"]


def test_who_is_found_to_run_shortly_passes_at_once() -> None:
    cache = a_world(runs("r", "6", 1), waits("large", "8", 1), waits("such", "1", created=11.0))
    assert admitted(decided(cache)) == {}
    ended = {"is_finished": True, "has_succeeded": True, "started": 10, "ended": 20}
    for number in range(LEAST):
        cache.put_pod(a_released_pod(f"past{number}", a_shape(cpu="1"), **ended))
    assert list(admitted(decided(cache))) == ["such"]


def test_nothing_is_kept_for_what_no_end_lets_in() -> None:
    user = backfilling(user_limits={"cpu": 1000})
    cache = a_world(runs("r", "1", 1, user="ann"), waits("more", "1", user="ann"), queues=(user,))
    cache.put_pod(waits("huge", "99"))
    decided(cache)
    assert (len(cache.backlog), kept(cache)) == (2, {})


def test_a_later_one_preempts_nothing_a_reservation_needs() -> None:
    urgent = Preemption(Within.LOWER_PRIORITY)
    web = Owner("apps/v1", "ReplicaSet", "web", "web")
    doors = [a_local_queue(), a_local_queue("other", "team-b")]
    queues = (backfilling(), backfilling("team-b", "8", preemption=urgent))
    victim = runs("v", "6", 1, cluster_queue="team-b", queue="other", owner=web)
    cache = a_world(victim, queues=queues, locals_=doors)
    cache.put_pod(waits("large", "8", priority=5))
    cache.put_pod(waits("long", "3", 9, queue="other", priority=3, created=11.0))
    assert decided(cache).evicts == ()
    cache.put_pod(waits("short", "3", 0.5, queue="other", priority=3, created=12.0))
    assert [evict.pod.uid for evict in decided(cache).evicts] == ["v"]


def of_whom_two_have_one(*names: str) -> ClusterCache:
    """Each has a queue of its own, and waits there; they came in this order."""
    cache = a_world(
        runs("r", "8", 1),
        *(waits(name, "4", 1, queue=name, created=10.0 + at) for at, name in enumerate(names)),
        queues=(backfilling(), *(backfilling(name) for name in names)),
        locals_=[a_local_queue(), *(a_local_queue(name, name) for name in names)],
        backfill_depth=2,
    )
    decided(cache)
    return cache


def test_only_the_first_in_order_have_a_reservation() -> None:
    assert set(kept(of_whom_two_have_one("q3", "q2", "q1", "q0"))) == {"q3", "q2"}


def test_beyond_the_ends_looked_at_there_is_no_reservation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(easy, "MOST_ENDS", 3)
    cache = a_world(*(runs(f"r{number}", "1", number + 1) for number in range(8)), waits("small", "3", 1))
    decided(cache)
    assert kept(cache) == {"small": 3 * HOUR + 1}
    cache.put_pod(waits("large", "4", 1, created=5.0))
    decided(cache)
    assert kept(cache) == {}


def test_at_most_twice_the_needed_ends_are_looked_at() -> None:
    pods = [runs(f"r{number}", "1", 1 + number) for number in range(100)]
    snapshot = a_world(*pods, waits("large", "5", 1), cpu="100").snapshot()
    assert snapshot.running.forecast is not None
    (kind,) = snapshot.waiting.runs
    planned = Backfill(snapshot, snapshot.running.forecast, Ledger(snapshot))
    wait = decide(snapshot, limit=UNLIMITED).waits[kind]
    booked = planned.book(
        snapshot.queues.cluster_queues["team-a"], snapshot.waiting.runs[kind][0], replace(wait, booking=None)
    )
    assert booked == wait
    assert planned.ends_visited <= 2 * 5


def test_nothing_is_foretold_once_no_queue_backfills() -> None:
    cache = a_world(runs("r", "6", 1), waits("large", "8", 1))
    assert [kind.runtime for kind in cache.snapshot().waiting.runs] == [HOUR]
    cache.set_cluster_queue("team-a", a_cluster_queue("team-a"))
    snapshot = cache.snapshot()
    assert (snapshot.running.forecast, [kind.runtime for kind in snapshot.waiting.runs]) == (None, [0])
    cache.set_cluster_queue("team-a", backfilling())
    decided(cache)
    assert kept(cache) == {"large": HOUR + 1}


@pytest.mark.parametrize(
    ("topology", "slices"), [(None, None), (Topology("rack", is_required=True), None), (None, Slices("rack", 2))]
)
def test_a_gang_kept_out_comes_in_with_the_reservations_end(topology: Topology | None, slices: Slices | None) -> None:
    gang = Membership(GroupKey("default", "g"), 2, topology=topology, slices=slices)
    members = [waits(name, "1", created=12.0, group=gang) for name in ("one", "two")]
    rack = a_node(cpu="4", labels={"pool": "spot", "rack": "a"})
    cache = a_world(runs("r", "2", 1), waits("big", "4"), *members, nodes=[rack], queues=(backfilling(),))
    decided(cache)
    (reason,) = {cache.reasons.of(kind).reason for kind in cache.backlog.runs if kind.size == 2}
    assert reason is Reason.WOULD_DELAY
    cache.drop_pod("big")
    assert admitted(decided(cache)).keys() == {"one", "two"}


def test_who_fitted_nowhere_is_reserved_on_a_larger_node() -> None:
    cache = a_world(waits("large", "6"), nodes=[a_node(cpu="4")], queues=(backfilling(cpu="20"),))
    decided(cache)
    assert kept(cache) == {}
    cache.put_node(a_node("node-2", cpu="8"))
    cache.put_pod(runs("r", "4", 1, node="node-2"))
    cache.put_pod(waits("long", "3", 9, created=20.0))
    plan = decided(cache)
    assert kept(cache) == {"large": HOUR + 1}
    assert admitted(plan) == {"long": ("spot", "node-1")}


def test_as_many_get_one_as_lost_theirs_at_once() -> None:
    cache = of_whom_two_have_one("q0", "q1", "q2", "q3")
    assert set(kept(cache)) == {"q0", "q1"}
    for name in ("q0", "q1"):
        cache.drop_pod(name)
    decided(cache)
    assert set(kept(cache)) == {"q2", "q3"}


def test_the_first_of_several_fair_trees_are_reserved_for() -> None:
    teams = [(tree, f"{tree}-{n}") for tree in ("org-a", "org-b") for n in range(USUAL_DEPTH + 2)]
    trees = [a_cluster_queue(tree, a_quota(cpu="4"), fair_sharing=USUAL) for tree in ("org-a", "org-b")]
    cache = a_world(
        *(runs(f"r-{tree}", "4", 1, cluster_queue=f"{tree}-0", queue=f"{tree}-0") for tree in ("org-a", "org-b")),
        *(waits(f"p-{name}", "3", 2, queue=name, created=10.0 + n) for n, (_, name) in enumerate(teams)),
        queues=(*trees, *(backfilling(name, "0", parent=tree) for tree, name in teams)),
        locals_=[a_local_queue(name, name) for _, name in teams],
    )
    decided(cache)
    assert {uid[:7] for uid in kept(cache)} == {"p-org-a"}

    for name in (name for tree, name in teams if tree == "org-a"):
        cache.drop_pod(f"p-{name}")
    decided(cache)
    assert {uid[:7] for uid in kept(cache)} == {"p-org-b"}
    assert len(kept(cache)) == USUAL_DEPTH


def test_the_next_of_a_preemptors_class_is_told_of_a_move() -> None:
    queue = backfilling(preemption=Preemption(Within.LOWER_PRIORITY))
    going = runs("going", "4", 9, priority=-1, is_terminating=True, gone_by=90.0, grace=30)
    stays = runs("stays", "4", 1, priority=9)
    first, following = (waits(name, "4", 1, priority=5, created=at) for name, at in (("first", 10.0), ("next", 11.0)))
    cache = a_world(going, stays, first, following, queues=(queue,))
    for hours in (1, 2):
        cache.put_pod(replace(stays, expected_runtime=hours * HOUR, resource_version=f"{2 + hours}"))
        decided(cache)
        (wait,) = (cache.reasons.of(kind) for kind in cache.backlog.runs)
        assert (wait.reason, wait.of("next").booking) == (Reason.PREEMPTING, wait.any_booking)
        assert wait.any_booking is not None
        assert (wait.any_booking.uid, wait.any_booking.at) == ("next", hours * HOUR + 1)
        assert "next" in set(iter(lambda: cache.reasons.next(inf), None))


def test_nothing_is_kept_for_a_user_at_a_limit() -> None:
    here = constraints(selector={"host": "here"})
    cache = a_world(
        runs("r", "3", 1, node="here"),
        waits("first", "3", 9, user="ann"),
        waits("second", "2", 1, where=here, created=11.0, user="ann"),
        waits("third", "1", 9, created=12.0, user="bob"),
        queues=(backfilling(user_limits={"cpu": 3000}),),
        nodes=[a_node("here", labels={"pool": "spot", "host": "here"}, cpu="3")],
    )
    assert admitted(decided(cache)) == admitted(decided(cache)) == {}
    assert set(kept(cache)) == {"first"}
    cache.put_node(a_node("there", labels={"pool": "spot"}, cpu="4"))
    assert set(admitted(decided(cache))) == {"first", "third"}
    assert kept(cache) == {}


@pytest.mark.parametrize("is_beside", [False, True])
def test_the_emptiest_node_is_told_after_those_before(is_beside: bool) -> None:
    """Of two that ask for the same, and one between them who is admitted; beside a reservation and without one."""
    teams = [a_cluster_queue(name, a_quota(cpu="8")) for name in ("one", "two", "three")]
    here, there = (a_node(name, cpu="8", labels={"pool": "spot", "host": name}) for name in ("here", "there"))
    at_here, at_there = (constraints(selector={"host": name}) for name in ("here", "there"))
    first = waits("first", "8", queue="team-a", created=1.0, where=at_there)
    cache = a_world(
        *(runs("r", "3", 1, node="here"), runs("s", "4", 1, node="there"), *([first] if is_beside else [])),
        *(waits("w1", "6", queue="one"), waits("passes", "2", 0.1, queue="two", created=11.0, where=at_here)),
        waits("w2", "6", queue="three", created=12.0),
        nodes=[here, there],
        queues=(*teams, backfilling()),
        locals_=[a_local_queue(name, name) for name in ("one", "two", "three", "team-a")],
    )
    plan = decided(cache)
    assert bool(reservations(cache)) is is_beside
    free = {kind.queue[1]: [one.free for one in wait.blockers] for kind, wait in plan.waits.items()}
    assert (list(admitted(plan)), free["one"], free["three"]) == (["passes"], [5000], [4000])
