"""Jobs that are held as a whole, as JSON, the way the apiserver writes them."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from controller.core.gate.job_release import release_job_patch
from controller.core.gate.release_patch import Admission
from controller.core.keys import QUEUE_NAME
from controller.core.queueing.queues import Flavor
from controller.core.workloads.pods import Pod
from controller.kube.decode import PodDecoder
from controller.kube.decode_jobs import JobDecoder, JobState
from tests.support.json_patch import patched
from tests.support.pod_documents import ADMISSION, a_container, stored_metadata

Json = dict[str, Any]


def a_job_document(
    name: str = "train",
    *,
    spec: Mapping[str, Any] | None = None,
    template: Mapping[str, Any] | None = None,
    metadata: Mapping[str, Any] | None = None,
    status: Mapping[str, Any] | None = None,
    **requests: Any,
) -> Json:
    """A suspended Job of queue main, with two pods of one cpu unless given; `template` is the spec of the template."""
    generated = {"batch.kubernetes.io/controller-uid": name, "batch.kubernetes.io/job-name": name}
    pod = {"containers": [a_container(**(requests or {"cpu": "1"}))], "restartPolicy": "Never", **(template or {})}
    return {
        "kind": "Job",
        "apiVersion": "batch/v1",
        "metadata": {
            **stored_metadata(name),
            "labels": {QUEUE_NAME: "main"},
            **(metadata or {}),
        },
        "spec": {
            "parallelism": 2,
            "completions": 2,
            "completionMode": "NonIndexed",
            "backoffLimit": 6,
            "suspend": True,
            "podReplacementPolicy": "TerminatingOrFailed",
            "manualSelector": False,
            "selector": {"matchLabels": {"batch.kubernetes.io/controller-uid": name}},
            "template": {"metadata": {"labels": {**generated, "controller-uid": name, "job-name": name}}, "spec": pod},
            **(spec or {}),
        },
        "status": dict(status or {}),
    }


def state_of(document: Json) -> JobState:
    return JobDecoder(PodDecoder())(orjson.dumps(document))


def pods_of(document: Json) -> Pod:
    """The pods of a Job that is held as a whole."""
    found = state_of(document).pods
    assert found is not None
    return found


def a_released_job(document: Json, flavors: Sequence[Flavor], admission: Admission = ADMISSION) -> Json:
    """The Job as the apiserver has it after the release patch."""
    return edited(patched(document, release_job_patch(pods_of(document), flavors, admission)))


def edited(document: Json, **spec: Any) -> Json:
    """The Job with this spec, and the versions that the apiserver gives it by that."""
    changed = copy.deepcopy(document)
    changed["spec"].update(spec)
    metadata = changed["metadata"]
    metadata["generation"] += 1
    metadata["resourceVersion"] = str(int(metadata["resourceVersion"]) + 1)
    return changed


def a_pod_of(job: Json, name: str, *, node: str | None = None, phase: str = "Pending", **metadata: Any) -> Json:
    """A pod as the Job controller makes it from the template that the Job has."""
    template = job["spec"]["template"]
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": job["metadata"]["name"], "uid": job["metadata"]["uid"]}
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {
            **copy.deepcopy(template["metadata"]),
            **stored_metadata(name),
            "namespace": job["metadata"]["namespace"],
            "resourceVersion": "9",
            "ownerReferences": [{**owner, "controller": True}],
            **metadata,
        },
        "spec": {**copy.deepcopy(template["spec"]), **({"nodeName": node} if node else {})},
        "status": {"phase": phase},
    }
