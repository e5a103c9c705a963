"""Parts that all JSON Patches of ours on pods and Jobs have in common: tests of what they rest on, and annotations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controller.core.keys import QUEUE_NAME, RELEASE_ATTEMPT
from controller.core.kubernetes.pointers import escape
from controller.core.workloads.held_sets import uid_of_object
from controller.core.workloads.pods import Pod

Operations = list[dict[str, Any]]


def sameness_tests(uid: str, generation: int, resource_version: str) -> Operations:
    """Build the tests that it is this pod as it was read; of pods older than Kubernetes 1.33 generation is 0."""
    version = ("generation", generation) if generation else ("resourceVersion", resource_version)
    return [
        {"op": "test", "path": "/metadata/uid", "value": uid},
        {"op": "test", "path": f"/metadata/{version[0]}", "value": version[1]},
    ]


def guards(pod: Pod) -> Operations:
    """Build the tests that the pod or Job is the one that was decided on, as it was then."""
    return [
        *sameness_tests(uid_of_object(pod.uid), pod.generation, pod.resource_version),
        # labels have no generation either: who is charged must still be who was asked
        {"op": "test", "path": f"/metadata/labels/{escape(QUEUE_NAME)}", "value": pod.queue},
        *attempt_test(pod),
    ]


def attempt_test(pod: Pod) -> Operations:
    """Build the test that no patch sent before this state of the pod was revoked since.

    A test for null passes where the annotation is absent, and fails where there are no annotations at all.
    """
    if not pod.has_annotations:
        return [{"op": "test", "path": "/metadata/annotations", "value": None}]
    path = f"/metadata/annotations/{escape(RELEASE_ATTEMPT)}"
    return [{"op": "test", "path": path, "value": pod.release_attempt}]


def annotate(pod: Pod, notes: Mapping[str, str]) -> Operations:
    """Build the operations that write annotations, after `attempt_test`: where there were none none is wiped."""
    return add_annotations("", notes, are_any=pod.has_annotations)


def add_annotations(at: str, notes: Mapping[str, str], *, are_any: bool) -> Operations:
    """Build the operations that write annotations of what is at this path; `are_any`: it has annotations already."""
    path = f"{at}/metadata/annotations"
    if not are_any:
        return [{"op": "add", "path": path, "value": dict(notes)}]
    return [{"op": "add", "path": f"{path}/{escape(key)}", "value": notes[key]} for key in notes]


def add_labels(at: str, labels: Mapping[str, str]) -> Operations:
    """Build the operations that write labels of what is at this path and has labels already."""
    return [{"op": "add", "path": f"{at}/metadata/labels/{escape(key)}", "value": labels[key]} for key in labels]
