"""Jobs of Kueue: which are charged as a whole, which wait here, and what is written on each."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from controller.core.gate.adoption import Adoption, Households, KueuePod, Orphan
from controller.core.gate.job_adoption import JobAdoption, JobHold, JobOrphan, KueueJob, adopt_jobs, of_whole_jobs
from controller.core.keys import (
    ADMITTED_AT,
    ADMITTED_JOB,
    CLUSTER_QUEUE,
    FLAVOR,
    KUEUE_GROUP_SIZE,
    KUEUE_PRIORITY_CLASS,
    KUEUE_QUEUE,
    KUEUE_REQUIRED_TOPOLOGY,
    PREEMPTIONS,
    PRIORITY_CLASS,
    QUEUE_NAME,
    REQUIRED_TOPOLOGY,
)
from controller.core.queueing.queues import ClusterQueue, Flavor, FlavorQuota
from controller.core.workloads.shapes import Constraints

FLAVORS = [Flavor(name="spot", node_labels=(("pool", "spot"),)), Flavor(name="dear", node_labels=(("pool", "dear"),))]
QUEUE = ClusterQueue(name="team", flavors=tuple(FlavorQuota(one.name, {}) for one in FLAVORS))
WORLD = Households(
    doors={("ns", "main"): "team"},
    queues={"team": QUEUE},
    flavors={one.name: one for one in FLAVORS},
    flavor_of={},
    jobs={},
)
AT = "2026-03-01T08:00:00Z"
RUNS = KueueJob(namespace="ns", name="j", uid="u", resource_version="7", labels={KUEUE_QUEUE: "main"}, admitted_at=AT)
WAITS = replace(RUNS, is_suspended=True)
POD = KueuePod(namespace="ns", name="p", uid="1", job="u", admitted_at=AT)


def becomes(
    job: KueueJob, *pods: Adoption | Orphan, gates_all: bool = False
) -> JobAdoption | JobHold | JobOrphan | None:
    found = adopt_jobs([job], pods, WORLD, gates_all=gates_all)
    return found[0] if found else None


def test_a_job_is_charged_to_the_flavor_of_most_of_its_pods() -> None:
    dear, spot = Adoption(POD, "main", "team", "dear"), Adoption(POD, "main", "team", "spot")
    other = Adoption(replace(POD, job="other"), "main", "team", "spot")
    assert becomes(RUNS, dear, spot, dear, other, other, Orphan(POD, "no")) == JobAdoption(RUNS, "main", "team", "dear")


def test_without_pods_its_template_tells_the_flavor() -> None:
    held = replace(RUNS, held_to=Constraints((("pool", "dear"),)))
    assert becomes(held) == JobAdoption(held, "main", "team", "dear")
    nowhere = replace(RUNS, held_to=Constraints((("pool", "old"),)))
    found = becomes(nowhere)
    assert isinstance(found, JobOrphan)
    assert found.why.startswith("no flavor of ClusterQueue team is where it may run")


@pytest.mark.parametrize(
    "change",
    [
        {"labels": {}},
        {"labels": {KUEUE_QUEUE: ""}},
        {"labels": {KUEUE_QUEUE: "main", QUEUE_NAME: "main"}},
        {"is_finished": True},
        {"is_of_another": True},
    ],
    ids=str,
)
def test_jobs_that_are_left_alone(change: dict[str, Any]) -> None:
    assert (becomes(replace(RUNS, **change)), becomes(replace(WAITS, **change))) == (None, None)


def test_pods_that_are_gated_are_charged_by_themselves() -> None:
    assert (becomes(replace(RUNS, has_gated_pods=True)), becomes(RUNS, gates_all=True)) == (None, None)
    for job in (replace(WAITS, has_gated_pods=True), WAITS):
        assert becomes(job, gates_all=True) == JobHold(job, "main")


def test_the_patch_of_a_job_that_runs_stamps_it() -> None:
    job = replace(RUNS, labels={**RUNS.labels, KUEUE_PRIORITY_CLASS: "high"})
    assert JobAdoption(job, "main", "team", "spot").patch() == {
        "metadata": {
            "uid": "u",
            "labels": {QUEUE_NAME: "main", PRIORITY_CLASS: "high", CLUSTER_QUEUE: "team", FLAVOR: "spot"},
            "annotations": {ADMITTED_AT: AT, PREEMPTIONS: None},
        }
    }


def test_the_patch_of_a_job_that_waits_queues_this_state_of_it() -> None:
    labels = {**WAITS.labels, KUEUE_PRIORITY_CLASS: "high", PRIORITY_CLASS: "own"}
    notes = {KUEUE_REQUIRED_TOPOLOGY: "zone", KUEUE_GROUP_SIZE: "3"}
    same = {"uid": "u", "resourceVersion": "7"}
    assert JobHold(replace(WAITS, labels=labels, template_annotations=notes), "main").patch() == {
        "metadata": {**same, "labels": {QUEUE_NAME: "main"}},
        "spec": {"template": {"metadata": {"annotations": {REQUIRED_TOPOLOGY: "zone"}}}},
    }
    assert JobHold(WAITS, "main").patch() == {"metadata": {**same, "labels": {QUEUE_NAME: "main"}}}


def test_pods_of_a_job_that_is_charged_say_whose_they_are() -> None:
    adoption, orphan = Adoption(POD, "main", "team", "spot"), Orphan(POD, "no")
    whole, left = of_whole_jobs([adoption, orphan], {"u"})
    assert left is orphan
    assert isinstance(whole, Adoption)
    assert whole.patch()["metadata"]["annotations"] == {ADMITTED_AT: AT, PREEMPTIONS: None, ADMITTED_JOB: "u"}  # type: ignore[index]
    assert of_whole_jobs([adoption], {"other"}) == [adoption]
