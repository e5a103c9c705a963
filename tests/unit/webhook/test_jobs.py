"""What the webhook makes of new Jobs: those of a queue are held as a whole, and none brings stamps of ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson
import pytest

from controller.core.gate.users import ALL_CONTROLLERS
from controller.core.keys import (
    ADMITTED_JOB,
    CLUSTER_QUEUE,
    DEFAULT_QUEUE,
    FLAVOR,
    HOLD,
    HOLD_JOBS,
    HOLD_PODS,
    KUEUE_PRIORITY_CLASS,
    PRIORITY_CLASS,
    QUEUE_NAME,
    USER,
)
from tests.support.json_patch import patched
from tests.support.worlds import TRUSTED, EmptyWorld
from webhook.checks.templates import check_owner
from webhook.reviews.admission import Answer
from webhook.reviews.templates import TemplateRequest, read_template
from webhook.steps.kueue_labels import mutate_owner
from webhook.steps.templates import mutate_template

Json = dict[str, Any]
QUEUED = {QUEUE_NAME: "main"}


class Holding(EmptyWorld):
    """A namespace whose default queue holds Jobs."""

    def namespace_labels(self, namespace: str) -> Mapping[str, str]:
        return {DEFAULT_QUEUE: "default", HOLD: HOLD_JOBS}


def a_job(metadata: Json | None = None, template: Json | None = None, **spec: Any) -> Json:
    return {"metadata": metadata or {}, "spec": {"template": {"metadata": template or {}, "spec": {}}, **spec}}


def asked(job: Json, old: Json | None = None, *, user: str = "ann", subresource: str = "") -> TemplateRequest:
    request = {
        "uid": "1",
        "operation": "CREATE" if old is None else "UPDATE",
        "namespace": "ns",
        "resource": {"group": "batch", "resource": "jobs"},
        "subResource": subresource,
        "userInfo": {"username": user, "groups": []},
        "object": job,
        "oldObject": old,
    }
    body = {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request}
    return read_template(orjson.dumps(body))


def stored(job: Json, world: EmptyWorld | None = None) -> Json:
    """The Job as it is stored; asked again, nothing changes and nothing is refused."""
    world = world or EmptyWorld()
    result: Json = patched(job, mutate_owner(asked(job), world).operations)
    assert mutate_owner(asked(result), world).operations == ()
    assert check_owner(asked(result), world).denial is None
    return result


def test_a_job_of_a_queue_is_suspended_and_of_its_user() -> None:
    job = stored(a_job({"labels": QUEUED}, suspend=False))
    assert job["spec"] == {
        "suspend": True,
        "template": {"metadata": {"annotations": {USER: "ann"}}, "spec": {}},
    }
    assert job["metadata"] == {"labels": QUEUED}


def test_the_default_queue_can_hold_jobs() -> None:
    assert stored(a_job(), Holding())["metadata"]["labels"] == {QUEUE_NAME: "default"}
    named = stored(a_job({"labels": {"app": "a"}}), Holding())
    assert named["metadata"]["labels"] == {"app": "a", QUEUE_NAME: "default"}
    assert named["spec"]["suspend"] is True


def test_a_queue_that_is_the_templates_comes_off_the_job() -> None:
    job = stored(a_job({"labels": {**QUEUED}}, {"labels": {**QUEUED}}, suspend=False))
    assert job["metadata"]["labels"] == {HOLD: HOLD_PODS}
    assert job["spec"]["suspend"] is False
    assert job["spec"]["template"]["metadata"]["labels"] == QUEUED


def test_a_job_without_a_queue_is_left_alone() -> None:
    job = a_job({"labels": {"app": "a", KUEUE_PRIORITY_CLASS: "high"}}, suspend=False)
    assert mutate_owner(asked(job), EmptyWorld()) == Answer()
    assert check_owner(asked(job), EmptyWorld()).denial is None


@pytest.mark.parametrize("labels", [{}, QUEUED])
def test_stamps_come_off_a_job_and_its_template(labels: Json) -> None:
    own = {"labels": {CLUSTER_QUEUE: "x", **labels}, "annotations": {"note": "a"}}
    inside = {"labels": {FLAVOR: "x"}, "annotations": {ADMITTED_JOB: "1", "note": "b"}}
    answer = mutate_owner(asked(a_job(own, inside)), EmptyWorld())
    warning = f"removed {CLUSTER_QUEUE}, {FLAVOR}, {ADMITTED_JOB}: only Penstock writes these, when it admits the Job"
    assert answer.warnings[0] == warning
    assert ("stripped", f"{CLUSTER_QUEUE}, {FLAVOR}, {ADMITTED_JOB}") in answer.audit
    job = stored(a_job(own, inside))
    assert job["metadata"]["labels"] == labels
    template = job["spec"]["template"]["metadata"]
    assert (template["labels"], template["annotations"].get("note")) == ({}, "b")
    assert ADMITTED_JOB not in template["annotations"]


def test_names_that_nothing_has_are_warned_of_on_the_job() -> None:
    labels = {**QUEUED, PRIORITY_CLASS: "high"}
    answer = mutate_owner(asked(a_job({"labels": labels}, {"labels": {QUEUE_NAME: "other"}})), EmptyWorld())
    assert answer.warnings == (
        "LocalQueue 'main' does not exist in namespace 'ns': the Job stays queued until it does (QueueNotFound)",
        "WorkloadPriorityClass 'high' does not exist: the Job stays queued until it does, or its label is corrected "
        "(PriorityClassNotFound)",
    )


def test_a_release_by_the_controller_is_left_as_it_is() -> None:
    waiting = a_job({"labels": QUEUED}, {"annotations": {}}, suspend=True)
    admitted = a_job({"labels": {**QUEUED, CLUSTER_QUEUE: "t"}}, {"labels": {FLAVOR: "spot"}}, suspend=False)
    request = asked(admitted, waiting, user=TRUSTED)
    assert mutate_owner(request, Holding()).operations == mutate_template(request, Holding()).operations == ()
    assert check_owner(request, Holding()).denial is None
    denial = check_owner(asked(admitted, waiting, user=ALL_CONTROLLERS), Holding()).denial or ""
    for text in (CLUSTER_QUEUE, f"spec.template.metadata.labels[{FLAVOR}]", "job-is-held: spec.suspend: "):
        assert text in denial


@pytest.mark.parametrize(("status", "user"), [({}, "ann"), ({"startTime": "2026-03-01T08:00:00Z"}, None)])
def test_who_puts_a_job_into_a_queue_later_is_its_user(status: Json, user: str | None) -> None:
    outside = {**a_job({"labels": {"app": "a"}}, suspend=True), "status": status}
    inside = {**a_job({"labels": {"app": "a", **QUEUED}}, suspend=True), "status": status}
    job = patched(inside, mutate_owner(asked(inside, outside), EmptyWorld()).operations)
    assert job["spec"]["template"]["metadata"].get("annotations", {}).get(USER) == user


def test_through_the_status_only_keys_are_judged() -> None:
    waiting = a_job({"labels": QUEUED}, suspend=True)
    freed = a_job({"labels": {}}, suspend=False)
    denial = check_owner(asked(freed, waiting, subresource="status"), EmptyWorld()).denial or ""
    assert denial.startswith("keys-are-ours: metadata.labels[penstock.dev/queue-name]: was 'main' and would be absent")
    assert "job-is-held" not in denial
