"""`penstock policy explain` says which keys of Kueue have no effect, on what waits in a queue of ours."""

from __future__ import annotations

from pathlib import Path

import pytest

from controller.core.keys import ACCEPTED, DEFAULT_QUEUE, KUEUE_LABELS, KUEUE_QUEUE, QUEUE_NAME
from tests.support.api_objects import Json
from tests.support.policy_commands import ExplainTool
from tests.support.policy_files import a_namespace, a_pod

QUEUED = {QUEUE_NAME: "main"}
LONGEST = {"kueue.x-k8s.io/max-exec-time-seconds": "3600"}
FEWER = {"kueue.x-k8s.io/job-min-parallelism": "2"}
POD_SPEC = {"containers": [{"name": "main", "image": "none"}], "restartPolicy": "Never"}
MOVING = a_namespace("default", **{KUEUE_LABELS: ACCEPTED})


@pytest.fixture
def tool(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> ExplainTool:
    return ExplainTool(tmp_path, capsys)


def a_job(own: Json, template: Json | None = None) -> Json:
    spec = {"template": {"metadata": template or {}, "spec": POD_SPEC}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "train", **own}, "spec": spec}


def a_cron_job(own: Json, template: Json) -> Json:
    jobs = {"metadata": own, "spec": {"template": {"metadata": template, "spec": POD_SPEC}}}
    spec = {"schedule": "@daily", "jobTemplate": jobs}
    return {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "nightly"}, "spec": spec}


def told(answer: Json) -> list[str]:
    return [note for note in answer["notes"] if "means nothing to Penstock" in note]


ON_JOB = (
    "metadata.labels[kueue.x-k8s.io/max-exec-time-seconds] on Job train means nothing to Penstock: write "
    "penstock.dev/max-run-time onto a Job that names its queue itself, or activeDeadlineSeconds into the spec of the "
    "pod or pod template, where it counts from each pod's start"
)
ON_TEMPLATE = (
    "spec.jobTemplate.spec.template.metadata.annotations[kueue.x-k8s.io/job-min-parallelism] on CronJob nightly means "
    "nothing to Penstock: write penstock.dev/min-parallelism onto a Job that names its queue itself, or "
    "penstock.dev/pod-group-min beside penstock.dev/gang into the annotations of the pod template: so many pods start "
    "together, and the others follow"
)


def test_a_key_without_effect_on_a_job_that_waits_is_told(tool: ExplainTool) -> None:
    job = a_job({"labels": LONGEST}, {"labels": QUEUED})
    assert told(tool.answer(job, a_namespace("default"))) == [ON_JOB]
    assert f"  note: {ON_JOB}\n" in tool.text(job, a_namespace("default"))[1]
    by_kueue = a_job({"labels": {**LONGEST, KUEUE_QUEUE: "main"}})
    assert told(tool.answer(by_kueue, MOVING)) == []  # it gets penstock.dev/max-run-time
    assert told(tool.answer(a_job({"labels": LONGEST}), a_namespace("default", **{DEFAULT_QUEUE: "main"}))) == [ON_JOB]


def test_of_a_cron_job_its_jobs_and_template_are_looked_at(tool: ExplainTool) -> None:
    nightly = a_cron_job({"labels": LONGEST}, {"labels": QUEUED, "annotations": FEWER})
    of_jobs, of_template = told(tool.answer(nightly, a_namespace("default")))
    assert of_jobs.startswith("spec.jobTemplate.metadata.labels[kueue.x-k8s.io/max-exec-time-seconds] on CronJob")
    assert of_template == ON_TEMPLATE


def test_a_minimum_of_kueue_that_is_taken_over_is_not_told(tool: ExplainTool) -> None:
    by_kueue = a_job({"labels": {KUEUE_QUEUE: "main"}, "annotations": FEWER})
    assert told(tool.answer(by_kueue, MOVING)) == []
    (other,) = told(tool.answer(a_job({"labels": QUEUED, "annotations": FEWER}), a_namespace("default")))
    assert "write penstock.dev/min-parallelism onto a Job" in other


def test_what_waits_in_no_queue_is_kueues_business(tool: ExplainTool) -> None:
    for silent in (a_job({"labels": LONGEST}), a_pod(labels=LONGEST), a_job({}, {"labels": QUEUED})):
        assert told(tool.answer(silent, a_namespace("default"))) == []
    by_kueue = a_job({"labels": {**LONGEST, KUEUE_QUEUE: "main"}})
    assert told(tool.answer(by_kueue, a_namespace("default"))) == []
    daemons = {**a_job({"labels": LONGEST}, {"labels": QUEUED}), "apiVersion": "apps/v1", "kind": "DaemonSet"}
    daemons["spec"] = {**daemons["spec"], "selector": {}}
    assert told(tool.answer(daemons, a_namespace("default"))) == []


def test_a_pod_is_told_of_however_it_comes_into_its_queue(tool: ExplainTool) -> None:
    ways: tuple[tuple[Json, Json], ...] = (
        (QUEUED, a_namespace("default")),
        ({KUEUE_QUEUE: "main"}, MOVING),
        ({}, a_namespace("default", **{DEFAULT_QUEUE: "main"})),
    )
    for labels, namespace in ways:
        (note,) = told(tool.answer(a_pod(labels={**labels, **LONGEST}), namespace))
        assert note.startswith("metadata.labels[kueue.x-k8s.io/max-exec-time-seconds] on Pod ")


def test_of_unqueued_kinds_it_is_said_beside_the_label(tool: ExplainTool) -> None:
    annotations = {"provreq.kueue.x-k8s.io/ValidUntilSeconds": "60"}
    job_set: Json = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet"}
    job_set["metadata"] = {"name": "train", "annotations": annotations}
    _, _, err = tool.text([a_pod(), job_set], a_namespace("default"))
    assert "metadata.annotations[provreq.kueue.x-k8s.io/] on JobSet train means nothing to Penstock" in err
