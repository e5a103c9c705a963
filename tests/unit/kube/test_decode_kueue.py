"""Jobs of Kueue from the apiserver's bytes: which wait, which run, and whose pods are queued by themselves."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from controller.core.gate.job_adoption import KueueJob
from controller.core.keys import KUEUE_QUEUE, QUEUE_NAME
from controller.kube.decode_kueue import decode_kueue_job
from controller.kube.errors import UnreadableObject
from tests.support.job_documents import a_job_document

Json = dict[str, Any]
OWNER = {"name": "o", "uid": "o", "controller": True}


def decoded(spec: Json | None = None, labels: Json | None = None, **options: Any) -> KueueJob:
    """The Job of this document, with these labels in its template."""
    document = a_job_document("train", spec=spec, **options)
    document["spec"]["template"]["metadata"]["labels"].update(labels or {})
    return decode_kueue_job(orjson.dumps(document))


def test_a_job_is_read_as_it_is() -> None:
    metadata = {"labels": {KUEUE_QUEUE: "main"}, "creationTimestamp": "2026-03-01T07:00:00Z"}
    template = {"nodeSelector": {"pool": "spot"}}
    job = decoded(metadata=metadata, template=template, status={"startTime": "2026-03-01T08:00:00Z"})
    assert (job.key, job.labels, job.held_to.node_selector) == (
        "default/train",
        metadata["labels"],
        (("pool", "spot"),),
    )
    assert (job.is_suspended, job.is_finished, job.is_of_another, job.has_gated_pods) == (True, False, False, False)
    assert job.admitted_at == "2026-03-01T08:00:00Z"
    assert decoded(metadata=metadata).admitted_at == "2026-03-01T07:00:00Z"
    assert not decoded({"suspend": False}).is_suspended


@pytest.mark.parametrize(
    ("labels", "template"),
    [({QUEUE_NAME: "main"}, None), ({KUEUE_QUEUE: "main"}, None), ({}, {"schedulingGates": [{"name": "a"}]})],
)
def test_whose_pods_are_gated(labels: Json, template: Json | None) -> None:
    assert decoded(labels=labels, template=template).has_gated_pods
    assert not decoded(labels={KUEUE_QUEUE: ""}).has_gated_pods


@pytest.mark.parametrize(
    ("spec", "owner", "is_of_another"),
    [
        ({}, {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet"}, True),
        ({}, {"apiVersion": "batch/v1", "kind": "CronJob"}, False),
        ({"managedBy": "example.com/manager"}, None, True),
        ({"managedBy": "kubernetes.io/job-controller"}, None, False),
    ],
)
def test_who_starts_it(spec: Json, owner: Json | None, is_of_another: bool) -> None:
    metadata = {} if owner is None else {"ownerReferences": [{**OWNER, **owner}]}
    assert decoded(spec, metadata=metadata).is_of_another is is_of_another


@pytest.mark.parametrize("kind", ["Complete", "Failed"])
def test_a_job_that_ended_or_is_deleted_is_finished(kind: str) -> None:
    assert decoded(status={"conditions": [{"type": kind, "status": "True"}]}).is_finished
    assert not decoded(status={"conditions": [{"type": kind, "status": "False"}]}).is_finished
    assert decoded(metadata={"deletionTimestamp": "2026-03-01T08:00:00Z"}).is_finished


def test_bytes_that_are_no_job_are_told() -> None:
    with pytest.raises(UnreadableObject, match="job"):
        decode_kueue_job(b"[]")
