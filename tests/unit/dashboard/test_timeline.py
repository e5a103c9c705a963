"""What happened to a pod, read from the pod."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from controller.core import keys
from controller.dashboard.timeline import Step, timeline
from controller.kube.errors import UnreadableObject

CREATED, ADMITTED, BOUND, STARTED, ENDED = (f"2026-11-28T12:0{minute}:00Z" for minute in range(5))


def pod(**parts: Any) -> bytes:
    metadata = {
        "name": "train-0",
        "namespace": "team-a",
        "uid": "u",
        "resourceVersion": "1",
        "creationTimestamp": CREATED,
        "labels": {keys.QUEUE_NAME: "main"},
        **parts.get("metadata", {}),
    }
    spec = {"containers": [{"name": "main"}], **parts.get("spec", {})}
    return msgspec.json.encode({"metadata": metadata, "spec": spec, "status": parts.get("status", {})})


def admitted(**parts: Any) -> bytes:
    stamps = {keys.QUEUE_NAME: "main", keys.CLUSTER_QUEUE: "team-a", keys.FLAVOR: "spot"}
    return pod(metadata={"labels": stamps, "annotations": {keys.ADMITTED_AT: ADMITTED}}, **parts)


def test_a_pod_that_waits_was_created() -> None:
    found = timeline(pod(spec={"schedulingGates": [{"name": keys.GATE}]}))
    assert (found.state, found.queue, found.steps) == ("Pending", "main", (Step("Created", CREATED),))


def test_a_pod_that_ended_has_all_steps() -> None:
    status = {
        "phase": "Succeeded",
        "startTime": STARTED,
        "conditions": [{"type": "PodScheduled", "status": "True", "lastTransitionTime": BOUND}],
        "containerStatuses": [{"name": "main", "state": {"terminated": {"finishedAt": ENDED, "exitCode": 0}}}],
    }
    found = timeline(admitted(spec={"nodeName": "spot-1"}, status=status))
    assert found.state == "Succeeded"
    assert found.steps == (
        Step("Created", CREATED),
        Step("Admitted", ADMITTED, "by ClusterQueue team-a onto flavor spot"),
        Step("Bound", BOUND, "to node spot-1"),
        Step("Started", STARTED),
        Step("Succeeded", ENDED),
    )


def test_what_nobody_has_timed_has_no_time() -> None:
    found = timeline(admitted(spec={"nodeName": "spot-1"}, status={"phase": "Failed"}))
    assert found.steps[-2:] == (Step("Bound", "", "to node spot-1"), Step("Failed", ""))


def test_a_pod_without_a_queue_is_none_of_ours() -> None:
    found = timeline(pod(metadata={"labels": {}}))
    assert (found.queue, found.steps) == ("", ())


def test_what_is_no_pod_is_refused() -> None:
    with pytest.raises(UnreadableObject):
        timeline(b"[]")
