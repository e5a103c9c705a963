"""Pods that were admitted with their Job: they keep their stamps and get no gate; what only looks like one does not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from controller.core.gate.protection import Actor
from controller.core.gate.users import ALL_CONTROLLERS, JOB_MAKERS, POD_MAKERS
from controller.core.keys import (
    ADMITTED_JOB,
    CLUSTER_QUEUE,
    DEFAULT_QUEUE,
    FLAVOR,
    GATE,
    QUEUE_NAME,
    QUEUEING,
    REQUIRED,
    USER,
)
from tests.support.json_patch import patched
from tests.support.worlds import TRUSTED, EmptyWorld
from webhook.checks.chain import validate
from webhook.pods.creators import actor
from webhook.reviews.admission import Answer, Request
from webhook.steps.chain import mutate

Json = dict[str, Any]
OWNER = {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": "u-1", "controller": True}
STAMPS = {QUEUE_NAME: "main", CLUSTER_QUEUE: "team", FLAVOR: "spot"}


class Strict(EmptyWorld):
    """A namespace where every pod needs a queue, with a default one."""

    def namespace_labels(self, namespace: str) -> Mapping[str, str]:
        return {QUEUEING: REQUIRED, DEFAULT_QUEUE: "default"}


def a_pod(user: str = JOB_MAKERS[0], uid: str = "u-1", **owner: Any) -> Request:
    metadata = {
        "labels": STAMPS,
        "annotations": {ADMITTED_JOB: uid, USER: "ann"},
        "ownerReferences": [{**OWNER, **owner}],
    }
    pod = {"metadata": metadata, "spec": {"containers": []}}
    return Request(uid="1", operation="CREATE", namespace="ns", subresource="", user=user, groups=(), pod=pod)


@pytest.mark.parametrize("uid", ["u-1", "an object's/workers"])
@pytest.mark.parametrize("user", JOB_MAKERS)
@pytest.mark.parametrize("world", [EmptyWorld(), Strict()])
def test_a_pod_of_an_admitted_job_is_left_as_it_is(user: str, world: EmptyWorld, uid: str) -> None:
    request = a_pod(user, uid)
    assert mutate(request, world) == validate(request, world) == Answer()


@pytest.mark.parametrize(
    "request_",
    [
        a_pod("jane"),
        *(a_pod(user) for user in POD_MAKERS if user not in JOB_MAKERS),
        a_pod(uid="u-2"),
        a_pod(uid=""),
        a_pod(controller=False),
        a_pod(kind="Task"),
        a_pod(apiVersion="example.com/v1"),
        a_pod("jane", "an object's/workers"),
        a_pod(uid="an object's/workers", kind="ReplicaSet"),
        a_pod(uid="an object's/workers", controller=False),
    ],
)
def test_what_only_looks_like_one_is_gated_and_refused(request_: Request) -> None:
    pod = patched(dict(request_.pod), mutate(request_, EmptyWorld()).operations)
    assert pod["spec"]["schedulingGates"] == [{"name": GATE}]
    assert pod["metadata"]["labels"] == {QUEUE_NAME: "main"}
    assert ADMITTED_JOB not in pod["metadata"]["annotations"]
    denial = validate(request_, EmptyWorld()).denial or ""
    assert "gate-required" in denial
    assert "stamps-are-ours" in denial


def test_the_job_controller_is_trusted_with_nothing_else() -> None:
    assert actor(a_pod(ALL_CONTROLLERS), EmptyWorld()) is Actor.ADMITTED_JOB
    assert actor(a_pod(TRUSTED), EmptyWorld()) is Actor.CONTROLLER
    old = a_pod().pod
    new = {**old, "metadata": {**old["metadata"], "labels": {**STAMPS, FLAVOR: "other"}}}
    update = Request(
        uid="1", operation="UPDATE", namespace="ns", subresource="", user=JOB_MAKERS[0], groups=(), pod=new, old=old
    )
    assert "keys-are-ours" in (validate(update, EmptyWorld()).denial or "")
