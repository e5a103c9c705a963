"""A Job from a manifest waits as it would in the cluster; what is no Job is refused in words."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from controller.core.keys import DEFAULT_QUEUE, EXPECTED_RUNTIME, QUEUE_NAME
from controller.core.workloads.pods import Phase
from controller.simulator.changes import ChangeError
from controller.simulator.new_job import new_job
from tests.support.simulated_worlds import NOW, a_world


def a_manifest(**spec: Any) -> dict[str, Any]:
    template = {
        "metadata": {"labels": {QUEUE_NAME: "main"}, "annotations": {EXPECTED_RUNTIME: "1h"}},
        "spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "2"}}}]},
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "train"},
        "spec": {"template": template, **spec},
    }


def test_its_first_pods_wait_at_the_gate() -> None:
    job, pods = new_job(a_manifest(parallelism=3, completions=5, completionMode="Indexed"), a_world())
    assert (job.key, job.created, job.most) == ("default/train", NOW, 3)
    assert [(pod.name, pod.completion_index, pod.phase) for pod in pods] == [
        (f"train-{at}", at, Phase.QUEUED) for at in range(3)
    ]
    assert {(pod.queue, pod.expected_runtime, pod.created) for pod in pods} == {("main", 3600, NOW)}
    assert dict(pods[0].shape.requests)["cpu"] == 2000
    assert pods[0].owner is not None
    assert pods[0].owner.uid == job.uid


def test_a_namespace_may_have_a_default_queue() -> None:
    manifest = a_manifest()
    del manifest["spec"]["template"]["metadata"]
    world = replace(a_world(), namespaces={"default": {DEFAULT_QUEUE: "usual"}})
    assert [pod.queue for pod in new_job(manifest, world)[1]] == ["usual"]
    with pytest.raises(ChangeError, match=f"names no queue: write the label {QUEUE_NAME}"):
        new_job(manifest, a_world())


@pytest.mark.parametrize(
    ("document", "fault"),
    [
        ({}, "is a document without a kind; write a Job of batch/v1"),
        ({"apiVersion": "v1", "kind": "Pod"}, "is a Pod; write a Job of batch/v1"),
        ({"apiVersion": "batch/v1", "kind": "Job"}, "is no Job that can be read: KeyError('metadata')"),
        ({**a_manifest(), "spec": None}, "is no Job that can be read"),
        (a_manifest(parallelism="many"), "is no Job that can be read: job: Expected `int | null`, got `str`"),
    ],
)
def test_what_is_no_job_is_refused(document: dict[str, Any], fault: str) -> None:
    with pytest.raises(ChangeError) as raised:
        new_job(document, a_world())
    assert str(raised.value).startswith(fault)


def test_a_job_of_the_same_name_is_refused() -> None:
    job, _ = new_job(a_manifest(), a_world())
    with pytest.raises(ChangeError, match="Job default/train is there already"):
        new_job(a_manifest(), a_world(jobs=[job]))
