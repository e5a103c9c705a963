"""`penstock policy` and workloads of queues: what becomes of them when they are written, before their pods."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from controller.core.keys import (
    ACCEPTED,
    DEFAULT_QUEUE,
    KUEUE_LABELS,
    KUEUE_QUEUE,
    POLICIES,
    QUEUE_NAME,
    USER,
)
from tests.support.api_objects import Json, cluster_pod_policy
from tests.support.policy_commands import ExplainTool, misses, step
from tests.support.policy_files import a_case, a_namespace, a_suite

MOVING = a_namespace("default", **{KUEUE_LABELS: ACCEPTED})
BY_KUEUE = {KUEUE_QUEUE: "main"}
QUEUED = {"labels": {QUEUE_NAME: "main"}}
BY_CRON_JOB = {"apiVersion": "batch/v1", "kind": "CronJob", "name": "nightly", "uid": "1", "controller": True}


@pytest.fixture
def tool(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> ExplainTool:
    return ExplainTool(tmp_path, capsys)


def a_job(template: Json | None = None, *, metadata: Json | None = None, **spec: Any) -> Json:
    body: Json = {"spec": {"containers": [{"name": "main", "image": "none"}], "restartPolicy": "Never"}}
    made = {**body, **({} if template is None else {"metadata": template})}
    whole = {"name": "train", **(metadata or {})}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": whole, "spec": {**spec, "template": made}}


def test_a_job_that_kueues_label_queues_is_told_what_it_becomes(tool: ExplainTool) -> None:
    job = a_job(metadata={"labels": BY_KUEUE}, parallelism=2)
    answer = tool.answer(job, MOVING)
    assert answer["workload"]["changes"] == [
        {"path": f"metadata.labels[{QUEUE_NAME}]", "after": "main"},
        {"path": "spec.suspend", "after": True},
    ]
    assert not step(answer, "Queue")["changes"]
    assert answer["result"] == "changed"
    assert HELD_IN_MAIN in answer["notes"]
    _, text, _ = tool.text(job, MOVING)
    head, _, _ = text.partition("Filled in")
    assert "\nJob 'train': Held Jobs, Kueue's labels, and the user: changes the workload\n     metadata.labels" in head


HELD_IN_MAIN = (
    "the Job is held as a whole in LocalQueue 'main', and created suspended: its pods are made when it is admitted, "
    "where its flavor is, and get no gate; JOB-UID stands for its uid"
)


@pytest.mark.parametrize("where", [a_namespace("default"), a_namespace("default", **{DEFAULT_QUEUE: "other"})])
def test_pods_of_a_job_that_is_held_get_no_gate(where: Json, tool: ExplainTool) -> None:
    answer = tool.answer(a_job(metadata=QUEUED, suspend=True), where)
    assert (answer["workload"], step(answer, "Queue")["changes"], answer["result"]) == (None, [], "allowed")
    assert HELD_IN_MAIN in answer["notes"]


def test_without_kueues_labels_the_workload_is_not_told_of(tool: ExplainTool) -> None:
    answer = tool.answer(a_job(metadata={"labels": BY_KUEUE}), a_namespace("default"))
    assert (answer["workload"], answer["result"]) == (None, "allowed")
    system = a_namespace("kube-system", **{KUEUE_LABELS: ACCEPTED})
    answer = tool.answer(a_job(metadata={"labels": BY_KUEUE, "namespace": "kube-system"}), system)
    assert (answer["workload"], answer["result"]) == (None, "allowed")


def test_template_policies_see_the_queue_of_the_template(tool: ExplainTool) -> None:
    for_queue = cluster_pod_policy(
        "queued", target="PodTemplates", podSelector={"matchLabels": {QUEUE_NAME: "main"}}, nodeSelector={"a": "b"}
    )
    kind = {"apiVersion": "apps/v1", "kind": "Deployment"}
    answer = tool.answer({**a_job(metadata={"labels": BY_KUEUE}, selector={}), **kind}, MOVING, for_queue)
    assert [one["policy"] for one in answer["template"]["policies"]] == ["queued"]
    assert {"path": f"spec.template.metadata.annotations[{POLICIES}]", "after": "queued"} in answer["template"][
        "changes"
    ]
    assert answer["directives"]["nodeSelector"] == {"a": "b"}


@pytest.mark.parametrize("noted", [{}, {"annotations": {USER: "forged"}}])
def test_pods_are_nobodys_without_a_known_writer(noted: Json, tool: ExplainTool) -> None:
    answer = tool.answer(a_job({**QUEUED, **noted}))
    assert [one["path"] for one in step(answer, "Queue")["changes"]] == ["spec.schedulingGates[0]"]
    gone = [{"path": f"spec.template.metadata.annotations[{USER}]", "before": "forged"}] if noted else []
    assert (answer["workload"]["changes"] if answer["workload"] else []) == gone


def test_a_job_of_a_cron_job_keeps_whose_that_is(tool: ExplainTool) -> None:
    job = a_job({**QUEUED, "annotations": {USER: "ann"}}, metadata={"ownerReferences": [BY_CRON_JOB]})
    answer = tool.answer(job)
    assert answer["workload"] is None
    assert [one["path"] for one in step(answer, "Queue")["changes"]] == ["spec.schedulingGates[0]"]


def test_the_pods_of_a_workload_are_those_of_who_wrote_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    anns = {"metadata": {"annotations": {USER: "ann"}}}
    daemons = {**a_job(), "apiVersion": "apps/v1", "kind": "DaemonSet"}
    daemons["spec"]["selector"] = {}
    a_suite(
        tmp_path,
        a_case("by a label", a_job(QUEUED), user="ann", pod=anns),
        a_case("by the namespace", a_job(), user="ann", namespace="queueing", pod=anns),
        a_case("of daemons", daemons, user="ann", namespace="queueing", pod=anns, absent=["spec.schedulingGates"]),
        a_case("by Kueue", a_job(metadata={"labels": BY_KUEUE}), user="ann", namespace="moving", pod=anns),
        a_case(
            "a gang",
            a_job(metadata={"labels": BY_KUEUE}, parallelism=2),
            namespace="moving",
            absent=[f"metadata.annotations[{USER}]"],
        ),
        objects=(
            a_namespace("default"),
            a_namespace("queueing", **{DEFAULT_QUEUE: "main"}),
            a_namespace("moving", **{KUEUE_LABELS: ACCEPTED}),
        ),
    )
    assert misses(capsys, tmp_path) == []


def a_cron_job(template: Json | None = None, *, metadata: Json | None = None, **spec: Any) -> Json:
    job = a_job(template, **spec)
    body = {"schedule": "@daily", "jobTemplate": {"metadata": metadata or {}, "spec": job["spec"]}}
    return {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "nightly"}, "spec": body}


def in_vain(answer: Json) -> list[str]:
    return [note for note in answer["notes"] if "means nothing" in note]


ON_JOB = (
    f"metadata.labels[{QUEUE_NAME}]: 'main' on Job train means nothing, since another controller runs the Job "
    "(spec.managedBy): put it into spec.template.metadata.labels"
)
ON_JOBS = (
    f"spec.jobTemplate.metadata.labels[{QUEUE_NAME}]: 'main' on CronJob nightly means nothing, since another "
    "controller runs the Job (spec.managedBy): put it into spec.jobTemplate.spec.template.metadata.labels"
)
ELSEWHERE: Json = {"managedBy": "example.com/x"}
ON_DAEMONS = (
    f"metadata.labels[{QUEUE_NAME}]: 'main' on DaemonSet train means nothing, since its pods do not get it: "
    "remove it, for pods of a DaemonSet wait in no queue"
)
DAEMONS = {**a_job(metadata=QUEUED, selector={}), "apiVersion": "apps/v1", "kind": "DaemonSet"}


@pytest.mark.parametrize(
    ("workload", "note"),
    [
        (a_job(metadata=QUEUED, **ELSEWHERE), ON_JOB),
        (a_cron_job(metadata=QUEUED, **ELSEWHERE), ON_JOBS),
        (DAEMONS, ON_DAEMONS),
    ],
)
def test_our_label_on_a_workload_means_nothing_and_that_is_said(workload: Json, note: str, tool: ExplainTool) -> None:
    assert in_vain(tool.answer(workload)) == [note]
    _, text, _ = tool.text(workload)
    assert f"  note: {note}\n" in text


def test_a_template_with_a_queue_gets_no_word_of_the_label(tool: ExplainTool) -> None:
    assert in_vain(tool.answer(a_job(QUEUED, metadata=QUEUED))) == []
    assert in_vain(tool.answer(a_cron_job(QUEUED, metadata=QUEUED))) == []
    both = a_job(metadata={"labels": {**BY_KUEUE, QUEUE_NAME: "main"}})
    assert in_vain(tool.answer(both, MOVING)) == in_vain(tool.answer(both)) == []


def test_a_label_that_holds_jobs_means_something(tool: ExplainTool) -> None:
    for workload in (a_job(metadata=QUEUED), a_cron_job(metadata=QUEUED)):
        assert in_vain(tool.answer(workload)) == []
