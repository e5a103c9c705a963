"""The patches of an object of a WorkloadKind: one admits all its pod sets, one puts its templates back.

As `job_release` for Jobs, with a template for each pod set. Each template has the stamps of its own pod set, since pod
sets may go to several flavors; the object itself only says which cluster queue is charged.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from controller.core.gate.job_release import read_written, removed_stamps, restored_template
from controller.core.gate.json_patch import Operations, add_annotations, add_labels, annotate, guards, sameness_tests
from controller.core.gate.narrowing_patch import narrowing_patch
from controller.core.gate.release_patch import Admission, stamps_of
from controller.core.keys import ADMITTED_AT, ADMITTED_BY, ADMITTED_JOB, CLUSTER_QUEUE, ORIGINAL_TEMPLATE, QUEUE_NAME
from controller.core.kubernetes.pointers import pointer
from controller.core.queueing.queues import Flavor
from controller.core.workload_kinds.kinds import WorkloadKind
from controller.core.workload_kinds.reading import FoundSet, pod_sets_of
from controller.core.workloads.held_sets import place_of
from controller.core.workloads.pods import Pod
from controller.core.workloads.topology import Domain

_WITHOUT: Final = "without"
"""In what a release notes of a template: parts of its metadata that the user did not write at all."""


@dataclass(frozen=True, slots=True)
class ReleasedSet:
    """The record of a pod set, and onto which flavors, and into which domains, it is released."""

    pods: Pod
    flavors: Sequence[Flavor]
    domains: Sequence[Domain] = ()


def release_object_patch(sets: Sequence[ReleasedSet], admission: Admission) -> Operations:
    """Build the operations that release a suspended object, with each of its pod sets onto one of its flavors.

    The apiserver refuses them (422) when the object is another one, was edited after we read it, or is not suspended.
    Raises ValueError where a template contradicts its flavor, which the decision has checked.
    """
    first = sets[0].pods
    suspend = place_of(first).suspend
    written = {_name(one.pods): _written(one.pods) for one in sets}
    notes = {ADMITTED_AT: admission.at, ADMITTED_BY: admission.by, ORIGINAL_TEMPLATE: _packed(written)}
    return [
        *guards(first),
        {"op": "test", "path": suspend, "value": True},
        *(operation for one in sets for operation in _released(one, admission)),
        *add_labels("", {CLUSTER_QUEUE: admission.cluster_queue}),
        *annotate(first, notes),
        {"op": "add", "path": suspend, "value": False},
    ]


def _released(one: ReleasedSet, admission: Admission) -> Operations:
    pods, at = one.pods, place_of(one.pods).template
    labels, notes = stamps_of(pods, [flavor.name for flavor in one.flavors], admission)
    labels, notes = {QUEUE_NAME: pods.queue or "", **labels}, {**notes, ADMITTED_JOB: pods.uid}
    held = pods.held_set
    # Controllers that create Jobs pass no change of affinity on to them, and JobSet's webhook refuses it.
    operations: Operations = narrowing_patch(pods, one.flavors, one.domains, at=at, by_selector=True)
    if held is None or not held.has_metadata:
        metadata = {"labels": labels, "annotations": notes}
        return [*operations, {"op": "add", "path": f"{at}/metadata", "value": metadata}]
    if held.has_labels:
        operations += add_labels(at, labels)
    else:
        operations.append({"op": "add", "path": f"{at}/metadata/labels", "value": labels})
    return operations + add_annotations(at, notes, are_any=pods.outline.template_annotations)


def _written(pods: Pod) -> dict[str, Any]:
    """Return what the user wrote in a template, and which parts of its metadata are there through the release alone."""
    said: dict[str, Any] = json.loads(pods.written or "{}")
    held = pods.held_set
    if held is None or not held.has_metadata:
        return {**said, _WITHOUT: ["metadata"]}
    parts = (("labels", held.has_labels), ("annotations", pods.outline.template_annotations))
    missing = [part for part, is_there in parts if not is_there]
    return {**said, _WITHOUT: missing} if missing else said


def _name(pods: Pod) -> str:
    return "" if pods.held_set is None else pods.held_set.name


def _packed(written: Mapping[str, Any]) -> str:
    return json.dumps(written, separators=(",", ":"), sort_keys=True)


def restore_object_patch(kind: WorkloadKind, document: Mapping[str, Any]) -> Operations:
    """Build the operations that put a suspended object back as its user wrote it, so that it can wait again.

    `document` is the object as the apiserver has it, with stamps. Raises UnreadablePodSets where it has no pod sets.
    """
    metadata = document["metadata"]
    written = read_written((metadata.get("annotations") or {}).get(ORIGINAL_TEMPLATE)) or {}
    operations = sameness_tests(metadata["uid"], metadata.get("generation") or 0, metadata["resourceVersion"])
    operations += [{"op": "test", "path": pointer(kind.suspend), "value": True}]
    for one in pod_sets_of(kind, document):
        said = written.get(one.name)
        if isinstance(said, dict):
            operations += _restored(one, said)
        else:
            operations += removed_stamps(f"{one.pointer}/metadata", one.template.get("metadata") or {}, ADMITTED_JOB)
    return operations + removed_stamps("/metadata", metadata, ORIGINAL_TEMPLATE)


def _restored(found: FoundSet, written: Mapping[str, Any]) -> Operations:
    at, metadata = found.pointer, found.template.get("metadata") or {}
    without = [part for part in written.get(_WITHOUT) or () if part in ("metadata", *metadata)]
    wholly = [
        {"op": "remove", "path": f"{at}/metadata" if part == "metadata" else f"{at}/metadata/{part}"}
        for part in without
    ]
    left = {} if "metadata" in without else {part: value for part, value in metadata.items() if part not in without}
    rest = {**found.template, "metadata": left}
    said = {key: value for key, value in written.items() if key != _WITHOUT}
    return [*restored_template(rest, said, at=at), *removed_stamps(f"{at}/metadata", left, ADMITTED_JOB), *wholly]
