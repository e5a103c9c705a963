"""What a plan says in rows, and of one pod in a sentence."""

from __future__ import annotations

import sys
from dataclasses import replace

import pytest

from controller.core.decision.decide import decide
from controller.core.snapshot import Snapshot
from controller.core.workloads.decisions import Plan
from controller.replay.outcome import Outcome, outcome_of, stands
from tests.corpus.plans import read
from tests.support.snapshots import changed


def outcome(name: str) -> Outcome:
    snapshot = read(name)
    return outcome_of(snapshot, decide(snapshot, limit=sys.maxsize))


def sentence(name: str, pod: str) -> str:
    found = outcome(name).of(pod)
    assert found is not None
    return found.sentence


def test_who_is_admitted_stands_in_the_order_of_the_decision() -> None:
    found = outcome("live-backlog")
    assert [(one.pod, one.cluster_queue, one.flavors, one.node) for one in found.admissions] == [
        ("backlog/serve-0", "backlog-serving", ("backlog-spot",), "backlog-spot-1"),
        ("backlog/serve-1", "backlog-serving", ("backlog-spot",), "backlog-spot-1"),
        ("backlog/train-0", "backlog-research", ("backlog-spot",), "backlog-spot-0"),
        ("backlog/train-1", "backlog-research", ("backlog-on-demand",), "backlog-on-demand-0"),
    ]
    assert (found.is_complete, found.evictions) == (True, ())


def test_all_pods_of_a_gang_wait_and_none_that_is_admitted() -> None:
    found = outcome("live-gang")
    assert [one.pod for one in found.admissions] == [f"gang/train-{number}" for number in range(4)]
    assert {reason.value: [one.pod for one in those] for reason, those in found.by_reason.items()} == {
        "QuotaExceeded": [f"gang/sweep-{number}" for number in range(4)],
        "GangIncomplete": ["gang/part-0", "gang/part-1"],
    }
    assert {(one.local_queue, one.cluster_queue) for one in found.waiting} == {("gang/main", "gang-cq")}


@pytest.mark.parametrize(
    ("name", "pod", "text"),
    [
        (
            "live-backlog",
            "backlog/train-1",
            "would be admitted by ClusterQueue backlog-research onto flavor backlog-on-demand, "
            "node backlog-on-demand-0",
        ),
        (
            "live-backlog",
            "backlog/lost",
            "waits (QueueNotFound): LocalQueue absent does not exist in namespace backlog",
        ),
        (
            "live-preemption",
            "preemption/later-1",
            "waits (QuotaExceeded): flavor preemption-spot: needs 1 cpu, 0 of its quota is free; "
            "preemption would not make room for it now",
        ),
        (
            "live-preemption",
            "preemption/urgent",
            "waits (Preempting): flavor preemption-spot: waits for 2 preempted pods to go",
        ),
        (
            "scenario-preemption-when-can-preempt",
            "default/s-low",
            "would be evicted (Preempted): for a workload of priority 5 in its ClusterQueue stops; this one has 0",
        ),
    ],
)
def test_a_sentence_says_what_becomes_of_a_pod(name: str, pod: str, text: str) -> None:
    assert sentence(name, pod) == text


def test_who_stays_has_no_row_and_its_standing_is_told() -> None:
    snapshot = read("live-backlog")
    pods = {pod.name: pod for pod in snapshot.running.pods.values()}
    assert outcome("live-backlog").of("backlog/first-0") is None
    running = pods["first-0"]
    assert stands(running) == (
        "was admitted by ClusterQueue backlog-research onto flavor backlog-spot, on node backlog-spot-0"
    )
    assert stands(replace(running, node=None)).endswith("onto flavor backlog-spot, on no node yet")
    assert stands(replace(running, is_finished=True)) == "has ended"
    assert stands(replace(running, is_terminating=True)) == "is being deleted"
    assert stands(replace(running, queue=None)) == "does not wait at Penstock's gate"


def test_several_flavors_that_are_open_are_all_named() -> None:
    snapshot = read("live-gang")
    plan = decide(snapshot, limit=sys.maxsize)
    admits = tuple(replace(one, flavors=("gang-spot", "other"), node=None) for one in plan.admits)
    found = outcome_of(snapshot, replace(plan, admits=admits)).admissions[0]
    assert found.sentence == "would be admitted by ClusterQueue gang-cq onto one of the flavors gang-spot, other"


def test_a_class_that_was_not_looked_at_waits_for_that() -> None:
    snapshot: Snapshot = read("live-backlog")
    found = outcome_of(snapshot, Plan((), {}, is_complete=False))
    assert [reason.value for reason in found.by_reason] == ["Pending"]
    assert (len(found.waiting), found.is_complete) == (10, False)


def test_a_job_with_a_deadline_is_told_as_in_the_condition() -> None:
    snapshot = read("live-preemption")
    ((uid, job),) = snapshot.running.jobs.items()
    dated = changed(snapshot, jobs={uid: replace(job, deadline=600, started=snapshot.now)})
    waiting = outcome_of(dated, decide(dated, limit=sys.maxsize)).waiting
    dates = {one.pod.startswith("preemption/train-"): "activeDeadlineSeconds (600)" in one.text for one in waiting}
    assert dates == {True: True, False: False}
