"""The patches of a Job that is held as a whole: one admits it, one puts it back after it was suspended.

The release patch narrows the template to its flavor, stamps it and the Job, and unsuspends the Job. So its pods are
born with their stamps, and are charged without another write. What of a template may change while its Job is suspended
is said by `core.job_update`, which tests hold both patches to.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from controller.core.gate.job_growth import read_count
from controller.core.gate.json_patch import Operations, add_annotations, add_labels, annotate, guards, sameness_tests
from controller.core.gate.narrowing_patch import narrowing_patch
from controller.core.gate.release_patch import DEADLINE, Admission, deadline_operations, stamps_of
from controller.core.gate.run_time import read_used
from controller.core.keys import (
    ADMITTED_AT,
    ADMITTED_BY,
    ADMITTED_JOB,
    CLUSTER_QUEUE,
    FLAVOR,
    FLAVORS,
    ORIGINAL_TEMPLATE,
    PREEMPTIONS,
    QUEUE_NAME,
    RUN_TIME_LIMIT,
    RUN_TIME_USED,
    WANTED_PARALLELISM,
)
from controller.core.kubernetes.pointers import escape
from controller.core.queueing.queues import Flavor
from controller.core.workloads.held_sets import place_of
from controller.core.workloads.pods import Pod
from controller.core.workloads.topology import Domain

_TEMPLATE: Final = "/spec/template"
_NARROWED: Final = ("nodeSelector", "affinity", "tolerations")
"""The fields of the template's spec that a release changes."""
_LABELS: Final = (CLUSTER_QUEUE, FLAVOR)
_ANNOTATIONS: Final = (ADMITTED_AT, ADMITTED_BY, FLAVORS, PREEMPTIONS)
_DEADLINE: Final = "activeDeadlineSeconds"
PARALLELISM: Final = "/spec/parallelism"


def release_job_patch(
    job: Pod, flavors: Sequence[Flavor], admission: Admission, domains: Sequence[Domain] = (), *, count: int = 0
) -> Operations:
    """Build the operations that release a suspended Job onto one of `flavors`.

    Of several flavors the earlier are preferred; `domains` are required or preferred, as for pods. `count`: so many
    pods were admitted; where these are fewer than it is to keep alive, it notes what its user wants. The apiserver
    refuses them (422) when the Job is another one, was edited after we read it, or runs. Raises ValueError where the
    template contradicts the flavor, which the decision has checked.
    """
    labels, notes = stamps_of(job, [one.name for one in flavors], admission)
    inside = {**notes, ADMITTED_JOB: job.uid}
    is_part = 0 < count < job.count
    own = {WANTED_PARALLELISM: str(job.parallelism)} if is_part else {}
    if admission.run_time:
        own[RUN_TIME_LIMIT] = str(admission.run_time)
    deadline = (read_written(job.written) or {}).get(_DEADLINE, 0)
    return [
        *guards(job),
        {"op": "test", "path": "/spec/suspend", "value": True},
        *narrowing_patch(job, flavors, domains, at=_TEMPLATE),
        *add_labels(_TEMPLATE, {QUEUE_NAME: job.queue or "", **labels}),
        *add_annotations(_TEMPLATE, inside, are_any=job.outline.template_annotations),
        *add_labels("", labels),
        *annotate(job, {**notes, ORIGINAL_TEMPLATE: job.written, **own}),
        *deadline_operations(deadline, admission.run_time),
        *([{"op": "add", "path": PARALLELISM, "value": count}] if is_part else []),
        {"op": "add", "path": "/spec/suspend", "value": False},
    ]


def written_by_user(template: Mapping[str, Any], deadline: int = 0) -> str:
    """Return as JSON what the user wrote in the parts of a template that a release changes, and as a Job's deadline."""
    spec, labels = template.get("spec") or {}, (template.get("metadata") or {}).get("labels") or {}
    found = {name: spec[name] for name in _NARROWED if spec.get(name) is not None}
    if QUEUE_NAME in labels:
        found["queue"] = labels[QUEUE_NAME]
    if deadline:
        found[_DEADLINE] = deadline
    return json.dumps(found, separators=(",", ":"), sort_keys=True)


def suspend_patch(job: Pod) -> Operations:
    """Build the operations that suspend what was admitted; refused (422) when it was edited, or suspended, since."""
    place = place_of(job)
    operations = sameness_tests(place.uid, job.generation, job.resource_version)
    if job.held_set is None:
        # controllers of other kinds leave a false value out when they write; there the generation alone says it
        operations.append({"op": "test", "path": place.suspend, "value": False})
    return [*operations, {"op": "add", "path": place.suspend, "value": True}]


def restore_patch(document: Mapping[str, Any], *, ran: int = 0) -> Operations:
    """Build the operations that put a suspended Job back as its user wrote it, so that it can wait again.

    It ran for `ran` seconds, which counts where its run time is limited.

    `document` is the Job as the apiserver has it, with stamps. What the stamps say of the template is believed: only
    Penstock writes them. Where they are damaged, which the break-glass group can do, the template stays narrowed.
    """
    metadata, spec = document["metadata"], document["spec"]
    notes = metadata.get("annotations") or {}
    written, wanted = read_written(notes.get(ORIGINAL_TEMPLATE)), read_count(notes.get(WANTED_PARALLELISM, ""))
    operations = sameness_tests(metadata["uid"], metadata["generation"], metadata["resourceVersion"])
    operations += [{"op": "test", "path": "/spec/suspend", "value": True}]
    if written is not None:
        operations += restored_template(spec["template"], written, at=_TEMPLATE)
    if wanted > spec.get("parallelism", 1):
        operations.append({"op": "add", "path": PARALLELISM, "value": wanted})
        if spec.get("completionMode") == "Indexed" and spec["completions"] == spec["parallelism"]:
            operations.append({"op": "add", "path": "/spec/completions", "value": wanted})
    if RUN_TIME_LIMIT in notes:
        operations += _run_time_restored(document, (written or {}).get(_DEADLINE), ran)
    operations += removed_stamps(f"{_TEMPLATE}/metadata", spec["template"].get("metadata") or {}, ADMITTED_JOB)
    own = ORIGINAL_TEMPLATE, WANTED_PARALLELISM, RUN_TIME_LIMIT
    return operations + removed_stamps("/metadata", metadata, *own)


def _run_time_restored(document: Mapping[str, Any], deadline: int | None, ran: int) -> Operations:
    """Build the operations that put the deadline back as its user wrote it, and keep how long the Job ran."""
    operations: Operations = []
    if deadline is not None:
        operations.append({"op": "add", "path": DEADLINE, "value": deadline})
    elif _DEADLINE in document["spec"]:
        operations.append({"op": "remove", "path": DEADLINE})
    used = str(read_used(document["metadata"]["annotations"]) + ran)
    return operations + add_annotations("", {RUN_TIME_USED: used}, are_any=True)


def read_written(text: str | None) -> dict[str, Any] | None:
    """Return what a release noted of what the user wrote; None where that cannot be read."""
    try:
        found = json.loads(text or "")
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def restored_template(template: Mapping[str, Any], written: Mapping[str, Any], *, at: str) -> Operations:
    """Build the operations that put the template at this pointer back as `written_by_user` noted it."""
    spec, labels = template.get("spec") or {}, (template.get("metadata") or {}).get("labels") or {}
    operations: Operations = []
    for name in _NARROWED:
        path = f"{at}/spec/{name}"
        if name in written:
            operations.append({"op": "add", "path": path, "value": written[name]})
        elif spec.get(name) is not None:
            operations.append({"op": "remove", "path": path})
    if "queue" in written:
        operations += add_labels(at, {QUEUE_NAME: written["queue"]})
    elif QUEUE_NAME in labels:
        operations.append({"op": "remove", "path": f"{at}/metadata/labels/{escape(QUEUE_NAME)}"})
    return operations


def removed_stamps(at: str, metadata: Mapping[str, Any], *own: str) -> Operations:
    """Build the operations that remove our stamps from metadata; `own` are annotations that only stand there."""
    stamps = (("labels", _LABELS), ("annotations", (*_ANNOTATIONS, *own)))
    found = [(part, key) for part, keys in stamps for key in keys if key in (metadata.get(part) or {})]
    return [{"op": "remove", "path": f"{at}/{part}/{escape(key)}"} for part, key in found]
