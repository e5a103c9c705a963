"""Kueue's labels, where a namespace has them accepted: what the webhook makes of them on pods, Jobs and the like."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from controller.core.keys import (
    ACCEPTED,
    GANG,
    GATE,
    KUEUE_GROUP,
    KUEUE_GROUP_SIZE,
    KUEUE_LABELS,
    KUEUE_PREFERRED_TOPOLOGY,
    KUEUE_PRIORITY_CLASS,
    KUEUE_QUEUE,
    KUEUE_REQUIRED_TOPOLOGY,
    KUEUE_SLICE_SIZE,
    KUEUE_SLICE_TOPOLOGY,
    POD_GROUP,
    POD_GROUP_SIZE,
    PREFERRED_TOPOLOGY,
    PRIORITY_CLASS,
    QUEUE_NAME,
    REQUIRED_TOPOLOGY,
    SLICE_SIZE,
    SLICE_TOPOLOGY,
    USER,
)
from tests.support.json_patch import patched
from tests.support.worlds import TRUSTED, EmptyWorld
from webhook.checks.chain import validate
from webhook.checks.templates import check_owner
from webhook.reviews.admission import Request
from webhook.reviews.templates import TemplateRequest, read_template
from webhook.steps.chain import mutate
from webhook.steps.kueue_labels import mutate_owner

Json = dict[str, Any]
BY_KUEUE = {KUEUE_QUEUE: "theirs", KUEUE_PRIORITY_CLASS: "high"}
GROUP = {"batch": ("jobs", "cronjobs")}


class Moving(EmptyWorld):
    """A namespace that has Kueue's labels accepted, and a default queue."""

    def __init__(self, accepted: str = ACCEPTED) -> None:
        self._accepted = accepted

    def namespace_labels(self, namespace: str) -> dict[str, str]:
        return {KUEUE_LABELS: self._accepted, "penstock.dev/default-queue": "default"}


def a_pod(labels: Json, annotations: Json | None = None, **spec: Any) -> Request:
    metadata = {"labels": labels, **({} if annotations is None else {"annotations": annotations})}
    pod = {"metadata": metadata, "spec": {"containers": [], **spec}}
    return Request(uid="1", operation="CREATE", namespace="ns", subresource="", user="ann", groups=(), pod=pod)


def created(request: Request, world: EmptyWorld) -> Json:
    """The pod as it is stored; sent through once more, nothing changes."""
    result: Json = patched(dict(request.pod), mutate(request, world).operations)
    again = Request(uid="1", operation="CREATE", namespace="ns", subresource="", user="ann", groups=(), pod=result)
    assert mutate(again, world).operations == ()
    assert validate(again, world).denial is None
    return result


def test_a_pod_gets_ours_beside_kueues() -> None:
    notes = {KUEUE_GROUP_SIZE: "3", KUEUE_REQUIRED_TOPOLOGY: "rack", KUEUE_PREFERRED_TOPOLOGY: "host"}
    notes |= {KUEUE_SLICE_TOPOLOGY: "rack", KUEUE_SLICE_SIZE: "3"}
    pod = created(a_pod({**BY_KUEUE, KUEUE_GROUP: "train"}, notes), Moving())
    assert pod["spec"]["schedulingGates"] == [{"name": GATE}]
    ours = {QUEUE_NAME: "theirs", PRIORITY_CLASS: "high", POD_GROUP: "train"}
    assert pod["metadata"]["labels"] == {**BY_KUEUE, KUEUE_GROUP: "train", **ours}
    noted = {POD_GROUP_SIZE: "3", REQUIRED_TOPOLOGY: "rack", PREFERRED_TOPOLOGY: "host"}
    noted |= {SLICE_TOPOLOGY: "rack", SLICE_SIZE: "3"}
    assert pod["metadata"]["annotations"] == {**notes, **noted, USER: "ann"}


def test_what_a_pod_says_in_our_words_stays() -> None:
    ours = {QUEUE_NAME: "ours", PRIORITY_CLASS: "low", POD_GROUP: "a"}
    pod = created(a_pod({**BY_KUEUE, KUEUE_GROUP: "b", **ours}, {KUEUE_GROUP_SIZE: "3", POD_GROUP_SIZE: "2"}), Moving())
    assert pod["metadata"]["labels"].items() >= ours.items()
    assert pod["metadata"]["annotations"][POD_GROUP_SIZE] == "2"


@pytest.mark.parametrize("accepted", ["", "accepted", "True"])
def test_another_value_than_accepted_means_nothing(accepted: str) -> None:
    pod = created(a_pod(BY_KUEUE), Moving(accepted))
    assert pod["metadata"]["labels"] == {**BY_KUEUE, QUEUE_NAME: "default"}


def test_a_priority_class_that_does_not_exist_is_warned_of() -> None:
    class Empty(Moving):
        def has_priority_class(self, name: str) -> bool:
            return False

    answer = mutate(a_pod(BY_KUEUE), Empty())
    assert any("'high' does not exist" in warning for warning in answer.warnings)


def test_a_pod_without_our_label_is_refused_if_kueues_counts() -> None:
    denial = validate(a_pod(BY_KUEUE), Moving()).denial
    assert denial is not None
    assert denial.startswith("gate-required: spec.schedulingGates: a pod of queue 'theirs'")
    assert validate(a_pod(BY_KUEUE), EmptyWorld()).denial is None


def owner(
    labels: Json, kind: str = "jobs", *, template: Json | None = None, old: Json | None = None, **spec: Any
) -> Json:
    """A request about an owner; `old`: its former template."""
    inside: Json = {"template": {"metadata": {}, "spec": {}, **(template or {})}, **spec}

    def holder(spec: Json) -> Json:
        if kind == "cronjobs":
            return {"metadata": {}, "spec": {"jobTemplate": {"metadata": {"labels": labels}, "spec": spec}}}
        return {"metadata": {"labels": labels}, "spec": spec}

    return {
        "uid": "1",
        "operation": "CREATE" if old is None else "UPDATE",
        "namespace": "ns",
        "resource": {"group": "batch" if kind in GROUP["batch"] else "apps", "resource": kind},
        "userInfo": {"username": "ann", "groups": []},
        "object": holder(inside),
        "oldObject": None if old is None else holder({**inside, "template": old}),
    }


def read(request: Json) -> TemplateRequest:
    return read_template(
        orjson.dumps({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request})
    )


def written(request: Json, world: EmptyWorld | None = None) -> Json:
    """The object as it is stored; what comes out needs nothing more, and passes the check."""
    world = world or Moving()
    result: Json = patched(request["object"], mutate_owner(read(request), world).operations)
    again = {**request, "object": result}
    assert mutate_owner(read(again), world).operations == ()
    assert check_owner(read(again), world).denial is None
    return result


def test_a_job_gets_ours_itself_and_is_held_as_a_whole() -> None:
    job = written(owner(BY_KUEUE, suspend=False, parallelism=4))
    assert job["metadata"]["labels"] == {**BY_KUEUE, QUEUE_NAME: "theirs", PRIORITY_CLASS: "high"}
    assert job["spec"]["suspend"] is True
    assert job["spec"]["template"]["metadata"] == {"annotations": {USER: "ann"}}


def test_where_the_pods_of_a_held_job_go_is_said_in_our_words() -> None:
    notes = {
        KUEUE_REQUIRED_TOPOLOGY: "rack",
        KUEUE_SLICE_SIZE: "3",
        KUEUE_SLICE_TOPOLOGY: "host",
        KUEUE_GROUP_SIZE: "3",
    }
    template = {"metadata": {"annotations": {**notes, SLICE_SIZE: "2"}}}
    metadata = written(owner(BY_KUEUE, template=template))["spec"]["template"]["metadata"]
    ours = {REQUIRED_TOPOLOGY: "rack", SLICE_TOPOLOGY: "host", SLICE_SIZE: "2", USER: "ann"}
    assert metadata["annotations"] == {**notes, **ours}
    in_ours = {**owner({QUEUE_NAME: "main"}, template=template)}
    assert REQUIRED_TOPOLOGY not in written(in_ours, EmptyWorld())["spec"]["template"]["metadata"]["annotations"]


OF_ANOTHER = [{"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "uid": "7", "controller": True}]


def of_another(**spec: Any) -> Json:
    """A request about a Job that something else than a CronJob made."""
    request = owner(BY_KUEUE, **spec)
    request["object"]["metadata"]["ownerReferences"] = OF_ANOTHER
    return request


@pytest.mark.parametrize(
    "template",
    [
        {"metadata": {"labels": {POD_GROUP: "mine"}}},
        {"metadata": {"labels": {KUEUE_GROUP: "mine"}}},
        {"metadata": {"annotations": {GANG: "false"}}},
    ],
)
def test_a_job_that_says_what_its_gang_is_keeps_it(template: Json) -> None:
    metadata = written(of_another(parallelism=4, template=template))["spec"]["template"]["metadata"]
    assert metadata["annotations"].get(GANG) == template["metadata"].get("annotations", {}).get(GANG)


@pytest.mark.parametrize(("parallelism", "gang"), [(1, None), (2, "true")])
def test_pods_of_a_job_of_another_are_held(parallelism: int, gang: str | None) -> None:
    job = written(of_another(parallelism=parallelism, suspend=True))
    metadata = job["spec"]["template"]["metadata"]
    assert (job["metadata"]["labels"], job["spec"]["suspend"]) == (BY_KUEUE, True)
    assert metadata["labels"] == {QUEUE_NAME: "theirs", PRIORITY_CLASS: "high"}
    assert metadata["annotations"] == {USER: "ann", **({} if gang is None else {GANG: gang})}


def test_a_cron_job_leaves_the_label_to_its_jobs() -> None:
    spec = written(owner(BY_KUEUE, "cronjobs", parallelism=2))["spec"]["jobTemplate"]
    assert spec["metadata"]["labels"] == BY_KUEUE
    assert spec["spec"]["template"]["metadata"] == {"annotations": {USER: "ann"}}


def test_of_a_cron_job_the_label_of_the_template_counts() -> None:
    request = owner({}, "cronjobs", parallelism=2, template={"metadata": {"labels": BY_KUEUE}})
    inner = written(request)["spec"]["jobTemplate"]["spec"]["template"]["metadata"]
    assert inner["labels"] == {**BY_KUEUE, QUEUE_NAME: "theirs", PRIORITY_CLASS: "high"}
    assert inner["annotations"] == {GANG: "true", USER: "ann"}


@pytest.mark.parametrize("kind", ["deployments", "statefulsets"])
def test_each_pod_of_a_deployment_is_for_itself(kind: str) -> None:
    metadata = written(owner(BY_KUEUE, kind))["spec"]["template"]["metadata"]
    assert metadata["labels"][QUEUE_NAME] == "theirs"
    assert metadata["annotations"] == {USER: "ann"}


def test_the_templates_own_label_goes_before_the_owners() -> None:
    template = {"metadata": {"labels": {KUEUE_QUEUE: "inner"}}}
    metadata = written(owner(BY_KUEUE, "deployments", template=template))["spec"]["template"]["metadata"]
    assert metadata["labels"][QUEUE_NAME] == "inner"


def test_a_template_that_is_left_as_it_is_starts_no_rollout() -> None:
    same = {"metadata": {"labels": {"app": "a"}}, "spec": {}}
    assert mutate_owner(read(owner(BY_KUEUE, "deployments", template=same, old=same)), Moving()).operations == ()
    changed = {"metadata": {"labels": {"app": "b"}}, "spec": {}}
    labels = written(owner(BY_KUEUE, "deployments", template=changed, old=same))["spec"]["template"]["metadata"][
        "labels"
    ]
    assert labels[QUEUE_NAME] == "theirs"


def test_what_kueue_does_not_queue_is_left_alone() -> None:
    suspended = owner({KUEUE_PRIORITY_CLASS: "high"}, suspend=True)
    spec = written(suspended)["spec"]
    assert spec["suspend"] is True
    assert "labels" not in spec["template"]["metadata"]
    assert written(owner(BY_KUEUE, suspend=True), EmptyWorld())["spec"]["suspend"] is True
    assert QUEUE_NAME not in written(owner(BY_KUEUE, "replicasets"))["spec"]["template"]["metadata"].get("labels", {})


def test_labels_without_a_value_say_nothing() -> None:
    empty = dict.fromkeys((*BY_KUEUE, KUEUE_GROUP), "")
    pod = created(a_pod(empty), Moving())
    assert pod["metadata"]["labels"] == {**empty, QUEUE_NAME: "default"}
    spec = written(owner(empty, suspend=True, parallelism=4))["spec"]
    assert (spec["suspend"], spec["template"]["metadata"].get("labels", {}).get(QUEUE_NAME)) == (True, None)
    template = {"metadata": {"labels": empty}}
    metadata = written(of_another(parallelism=4, template=template))["spec"]["template"]["metadata"]
    assert metadata["labels"].items() >= {QUEUE_NAME: "theirs", PRIORITY_CLASS: "high"}.items()
    assert metadata["annotations"][GANG] == "true"


@pytest.mark.parametrize(
    ("kind", "version", "controller", "is_held"),
    [
        ("JobSet", "jobset.x-k8s.io/v1alpha2", True, False),
        ("CronJob", "example.com/v1", True, False),
        ("CronJob", "batch/v1", True, True),
        ("JobSet", "jobset.x-k8s.io/v1alpha2", False, True),
    ],
)
def test_a_job_is_held_unless_another_object_made_it(kind: str, version: str, controller: bool, is_held: bool) -> None:
    request = owner(BY_KUEUE)
    reference = {"apiVersion": version, "kind": kind, "name": "maker", "uid": "7", "controller": controller}
    request["object"]["metadata"]["ownerReferences"] = [reference]
    job = written(request)
    assert job["spec"].get("suspend", False) is is_held
    assert (QUEUE_NAME in job["metadata"]["labels"]) is is_held
    assert (QUEUE_NAME in job["spec"]["template"]["metadata"].get("labels", {})) is not is_held


def test_a_job_that_nothing_gave_our_label_is_refused() -> None:
    refused = check_owner(read(owner(BY_KUEUE)), Moving()).denial
    assert refused == (
        "job-is-held: metadata.labels[penstock.dev/queue-name]: is missing: the namespace has the label "
        "penstock.dev/kueue-labels, and kueue.x-k8s.io/queue-name names a queue; "
        "create it again: Penstock adds it"
    )
    assert check_owner(read(owner(BY_KUEUE)), EmptyWorld()).denial is None


def test_a_template_that_nothing_gave_our_label_is_refused() -> None:
    refused = check_owner(read(of_another()), Moving()).denial
    assert refused == (
        "gate-required: spec.template.metadata.labels[penstock.dev/queue-name]: is missing: the namespace has the "
        "label penstock.dev/kueue-labels, and kueue.x-k8s.io/queue-name names a queue; "
        "create it again: Penstock adds it"
    )
    assert check_owner(read(of_another()), EmptyWorld()).denial is None
    trusted = {**of_another(), "userInfo": {"username": TRUSTED, "groups": []}}
    assert check_owner(read(trusted), Moving()).denial is None
