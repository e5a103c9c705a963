"""Objects of WorkloadKinds from the apiserver's bytes: a record for each pod set."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from controller.core.keys import ADMITTED_JOB, CLUSTER_QUEUE, CONDITION, FLAVOR, HELD, QUEUE_NAME
from controller.core.reasons import Reason
from controller.core.workloads.pods import Phase
from controller.kube.decode import PodDecoder
from controller.kube.decode_answers import AnswerDecoder
from controller.kube.decode_workload_objects import WorkloadObjectDecoder
from controller.kube.errors import UnreadableObject
from tests.support.train_documents import TRAIN, a_group, a_template, a_train, sets_of

_CONTROLLER = {"apiVersion": "a/v1", "kind": "Whole", "name": "whole", "uid": "w", "controller": True}


def test_each_pod_set_is_a_record_of_one_gang() -> None:
    head, big = sets_of(a_train(a_group(replicas=3)))
    assert [(one.uid, one.name, one.count) for one in (head, big)] == [
        ("train/head", "train.head", 1),
        ("train/big", "train.big", 3),
    ]
    assert dict(big.shape.requests) == {"cpu": 2000, "pods": 1}
    assert head.group == big.group
    assert head.group is not None
    assert (head.group.key.is_object, head.group.size) == (True, 2)
    assert {one.phase for one in (head, big)} == {Phase.QUEUED}


@pytest.mark.parametrize("metadata", [{"labels": {}}, {"ownerReferences": [_CONTROLLER]}])
def test_who_is_not_held(metadata: dict[str, Any]) -> None:
    assert sets_of(a_train(metadata=metadata)) == ()


def admitted(suspend: bool, **fields: Any) -> dict[str, Any]:
    def stamped(name: str, flavor: str) -> dict[str, Any]:
        labels = {CLUSTER_QUEUE: "team", FLAVOR: flavor, QUEUE_NAME: "main"}
        return a_template("1", labels=labels, annotations={ADMITTED_JOB: f"train/{name}"})

    metadata = {"labels": {QUEUE_NAME: "main", CLUSTER_QUEUE: "team"}}
    group = a_group(template=stamped("big", "gpu"))
    return a_train(group, head={"template": stamped("head", "spot")}, metadata=metadata, suspend=suspend, **fields)


def test_an_admitted_object_is_charged_set_by_set() -> None:
    sets = sets_of(admitted(suspend=False))
    assert [(one.phase, one.cluster_queue, one.flavor) for one in sets] == [
        (Phase.RESERVED, "team", "spot"),
        (Phase.RESERVED, "team", "gpu"),
    ]
    assert all(one.is_stopping for one in sets_of(admitted(suspend=True)))
    assert all(one.is_finished for one in sets_of(admitted(suspend=False, status={"phase": "Failed"})))


@pytest.mark.parametrize(
    ("group", "reason", "told"),
    [
        (a_group(replicas="x"), Reason.INVALID_REQUESTS, "spec.groups.0.replicas"),
        (a_group(replicas=100_000), Reason.INVALID_REQUESTS, "99999"),
    ],
)
def test_what_cannot_be_admitted_waits_and_says_why(group: dict[str, Any], reason: Reason, told: str) -> None:
    for one in sets_of(a_train(group)):
        assert one.hold is not None
        assert (one.hold.reason, told in one.hold.text) == (reason, True)


def test_an_object_without_pods_is_held() -> None:
    train = a_train(a_group(replicas=0))
    del train["spec"]["head"]
    (only,) = sets_of(train)
    assert only.hold is not None
    assert only.hold.reason is Reason.HELD


def test_what_people_and_we_noted_is_read() -> None:
    said = orjson.dumps({"status": "False", "reason": "QuotaExceeded", "message": "m"}).decode()
    head, _ = sets_of(a_train(metadata={"annotations": {HELD: "jane", CONDITION: said}}))
    assert head.held == "jane"
    assert head.said is not None
    assert head.said.reason == "QuotaExceeded"
    odd, _ = sets_of(a_train(metadata={"annotations": {CONDITION: "odd"}}))
    assert odd.said is None


def test_an_answer_shows_the_other_pod_sets_too() -> None:
    others: list[str] = []
    decode = AnswerDecoder(PodDecoder(), {TRAIN.name: TRAIN}, lambda pod: others.append(pod.uid))
    head, big = sets_of(a_train())
    assert decode(orjson.dumps(admitted(suspend=False)), big).flavor == "gpu"
    assert others == ["train/head"]
    with pytest.raises(UnreadableObject, match="is not held"):
        decode(orjson.dumps(a_train(metadata={"labels": {}})), head)
    with pytest.raises(UnreadableObject, match="does not exist"):
        AnswerDecoder(PodDecoder())(orjson.dumps(a_train()), head)


@pytest.mark.parametrize("raw", [b"{}", b"[]", b'{"metadata": 1}', b'{"metadata": {"labels": 1}}'])
def test_bytes_that_are_no_object_are_told(raw: bytes) -> None:
    with pytest.raises(UnreadableObject, match="Train"):
        WorkloadObjectDecoder(TRAIN, PodDecoder())(raw)
