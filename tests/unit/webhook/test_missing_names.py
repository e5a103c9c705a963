"""Names in templates that nothing has: whoever writes a Job or Deployment is warned, and nobody else."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from controller.core.gate.users import ALL_CONTROLLERS
from controller.core.keys import PRIORITY_CLASS, QUEUE_NAME
from tests.support.worlds import EmptyWorld
from webhook.reviews.templates import WORKLOADS, read_template
from webhook.steps.kueue_labels import mutate_owner

Json = dict[str, Any]


class World(EmptyWorld):
    def has_local_queue(self, namespace: str, name: str) -> bool:
        return name in self.local_queues_in(namespace)

    def local_queues_in(self, namespace: str) -> tuple[str, ...]:
        return ("main", "batch") if namespace == "team" else ()

    def has_priority_class(self, name: str) -> bool:
        return name == "high"


def warned(
    labels: Json, resource: str = "jobs", *, group: str = "batch", own: Json | None = None, **request: Any
) -> tuple[str, ...]:
    """What is warned of an object whose template has these labels, and which has `own`."""
    inside: Json = {"template": {"metadata": {"labels": labels}, "spec": {}}}
    if resource == "cronjobs":
        inside = {"jobTemplate": {"metadata": {"labels": own or {}}, "spec": inside}}
    controlled = {"ownerReferences": [{"controller": True}]} if request.pop("is_owned", False) else {}
    found = {
        "uid": "1",
        "operation": "CREATE",
        "namespace": "team",
        "resource": {"group": group, "resource": resource},
        "userInfo": {"username": "ann", "groups": []},
        "object": {"metadata": {"labels": own or {}, **controlled}, "spec": inside},
        **request,
    }
    body = orjson.dumps({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": found})
    return mutate_owner(read_template(body), World()).warnings


@pytest.mark.parametrize(("group", "resource"), [one for one in WORKLOADS if one[1] != "daemonsets"])
def test_a_misspelt_queue_of_a_template_is_warned_of(group: str, resource: str) -> None:
    path = ".".join(WORKLOADS[group, resource].path)
    assert warned({QUEUE_NAME: "mian"}, resource, group=group) == (
        f"LocalQueue 'mian' does not exist in namespace 'team': pods of {path} stay queued until it does "
        "(QueueNotFound); did you mean 'main'?",
    )
    assert warned({QUEUE_NAME: "main"}, resource, group=group) == ()


def test_nothing_is_proposed_that_is_not_similar() -> None:
    (text,) = warned({QUEUE_NAME: "gpu"})
    assert text.endswith("(QueueNotFound)")


@pytest.mark.parametrize(
    ("labels", "own", "expected"),
    [
        ({PRIORITY_CLASS: "high"}, {}, None),
        ({PRIORITY_CLASS: "hihg"}, {}, "hihg"),
        ({PRIORITY_CLASS: "hihg"}, {PRIORITY_CLASS: "high"}, None),
        ({}, {PRIORITY_CLASS: "urgnt"}, "urgnt"),
    ],
)
@pytest.mark.parametrize("resource", ["jobs", "cronjobs"])
def test_a_class_is_warned_of_that_would_order_the_pods(
    resource: str, labels: Json, own: Json, expected: str | None
) -> None:
    texts = warned({QUEUE_NAME: "main", **labels}, resource, own=own)
    assert [text.split("'")[1] for text in texts] == ([] if expected is None else [expected])


def test_the_label_of_a_deployment_itself_orders_nothing() -> None:
    assert warned({QUEUE_NAME: "main"}, "deployments", group="apps", own={PRIORITY_CLASS: "urgnt"}) == ()


def test_nobody_is_warned_who_writes_no_such_name() -> None:
    mian = {QUEUE_NAME: "mian"}
    assert warned({}) == warned({PRIORITY_CLASS: "urgnt"}) == ()
    assert warned(mian, "daemonsets", group="apps") == ()
    assert warned(mian, "replicasets", group="apps", is_owned=True, userInfo={"username": ALL_CONTROLLERS}) == ()
    same = {"metadata": {}, "spec": {"template": {"metadata": {"labels": mian}, "spec": {}}}}
    assert warned(mian, "deployments", group="apps", operation="UPDATE", oldObject=same) == ()
