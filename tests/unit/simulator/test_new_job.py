"""A Job from a manifest waits as it would in the cluster; what is no Job is refused in words."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from controller.core.keys import DEFAULT_QUEUE, EXPECTED_RUNTIME, QUEUE_NAME
from controller.core.workloads.pods import Phase
from controller.simulator.changes import ChangeError
from controller.simulator.new_job import new_job
from tests.support.builders import a_local_queue
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


def test_containers_ask_for_their_limits_where_they_do_not_say() -> None:
    manifest = a_manifest()
    (container,) = manifest["spec"]["template"]["spec"]["containers"]
    container["resources"] = {"limits": {"cpu": "4", "memory": "1Gi"}, "requests": {"cpu": "2"}}
    (pod,) = new_job(manifest, a_world())[1]
    assert dict(pod.shape.requests) == {"cpu": 2000, "memory": 2**30, "pods": 1}


def test_a_namespace_may_have_a_default_queue() -> None:
    manifest = a_manifest()
    del manifest["spec"]["template"]["metadata"]
    there = [a_local_queue("usual"), a_local_queue()]
    world = replace(a_world(locals_=there), namespaces={"default": {DEFAULT_QUEUE: "usual"}})
    assert [pod.queue for pod in new_job(manifest, world)[1]] == ["usual"]
    with pytest.raises(ChangeError, match=f"names no queue: write the label {QUEUE_NAME}"):
        new_job(manifest, a_world())
    world = replace(a_world(), namespaces={"default": {DEFAULT_QUEUE: "gone"}})
    with pytest.raises(ChangeError, match="the default queue: there is no LocalQueue gone in namespace default; "):
        new_job(manifest, world)


@pytest.mark.parametrize(
    ("queue", "namespace", "hint"),
    [
        ("mian", "default", "did you mean main?"),
        ("other", "default", "the namespace has main"),
        ("main", "elsewhere", "the namespace has none"),
    ],
)
def test_a_queue_that_is_not_there_is_refused(queue: str, namespace: str, hint: str) -> None:
    manifest = a_manifest()
    manifest["metadata"]["namespace"] = namespace
    manifest["spec"]["template"]["metadata"]["labels"][QUEUE_NAME] = queue
    with pytest.raises(ChangeError) as raised:
        new_job(manifest, a_world())
    where = f"spec.template.metadata.labels[{QUEUE_NAME}]"
    assert str(raised.value) == f"{where}: there is no LocalQueue {queue} in namespace {namespace}; {hint}"


def a_manifest_of(containers: Any, **spec: Any) -> dict[str, Any]:
    manifest = a_manifest()
    manifest["spec"]["template"]["spec"] = {"containers": containers, **spec}
    return manifest


def asking_for(**requests: Any) -> list[dict[str, Any]]:
    return [{"name": "main", "resources": {"requests": requests}}]


OF_POD = "spec.template.spec"
REQUESTS = f"{OF_POD}.containers[0].resources.requests"


@pytest.mark.parametrize(
    ("document", "fault"),
    [
        ({}, "is a document without a kind; write a Job of batch/v1"),
        ({"apiVersion": "v1", "kind": "Pod"}, "is a Pod; write a Job of batch/v1"),
        ({"apiVersion": "batch/v1", "kind": "Job"}, "metadata: is missing; a Job needs it"),
        ({**a_manifest(), "metadata": {}}, "metadata.name: is missing; a Job needs it"),
        ({**a_manifest(), "metadata": {"name": "Ünï"}}, "metadata.name: 'Ünï' is no name; write at most 253 lower"),
        ({**a_manifest(), "metadata": {"name": 7}}, "metadata.name: 7 is no name"),
        ({**a_manifest(), "metadata": {"name": "a", "namespace": "A"}}, "metadata.namespace: 'A' is no name; write at"),
        ({**a_manifest(), "spec": None}, "spec: is missing; a Job needs it"),
        ({**a_manifest(), "spec": {}}, "spec.template: is missing; a Job needs it"),
        ({**a_manifest(), "spec": {"template": "x"}}, "spec.template: must be an object, and is 'x'"),
        ({**a_manifest(), "spec": {"template": {}}}, f"{OF_POD}: is missing; a Job needs it"),
        (a_manifest_of(None), f"{OF_POD}.containers: is missing; a Job needs it"),
        (a_manifest_of([]), f"{OF_POD}.containers: is empty; a pod has one container at least"),
        (a_manifest_of({}), f"{OF_POD}.containers: must be a list, and is {{}}"),
        (a_manifest_of(["x"]), f"{OF_POD}.containers[0]: must be an object, and is 'x'"),
        (a_manifest_of([{"name": "Ünï"}]), f"{OF_POD}.containers[0].name: 'Ünï' is no name; write at most 63"),
        (a_manifest_of([{"resources": 1}]), f"{OF_POD}.containers[0].resources: must be an object, and is 1"),
        (a_manifest_of(asking_for(cpu="-2")), f"{REQUESTS}[cpu]: '-2' is negative; the least is 0"),
        (a_manifest_of(asking_for(cpu=-2)), f"{REQUESTS}[cpu]: '-2' is negative; the least is 0"),
        (a_manifest_of(asking_for(cpu="many")), f"{REQUESTS}[cpu]: 'many' is not a quantity"),
        (a_manifest_of(asking_for(cpu=0.5)), f"{REQUESTS}[cpu]: 0.5 is no text and no whole number; put a quantity in"),
        (a_manifest_of(asking_for(**{"a b": 1})), f"{REQUESTS}[a b]: is no name of a resource"),
        (a_manifest_of(asking_for(), initContainers=["x"]), f"{OF_POD}.initContainers[0]: must be an object, and is"),
        (a_manifest_of(asking_for(), overhead={"cpu": "-1"}), f"{OF_POD}: "),
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
