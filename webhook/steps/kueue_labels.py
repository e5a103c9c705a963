"""Kueue's labels on pods and on what makes pods, where their namespace accepts them. Which: `core.gate.kueue_labels`.

Pods get ours beside them. Kueue reads the label of a Job or Deployment, not of its template: so the template gets ours,
and a new Job that its manifest suspends, for Kueue to begin it, begins: its pods wait at the gate instead. Not so a Job
that something else than a CronJob made: who made it says when it begins. Nor one with activeDeadlineSeconds: its clock
would start while its pods wait.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from controller.core.gate import kueue_labels
from controller.core.keys import KUEUE_QUEUE, QUEUE_NAME
from controller.core.kubernetes.pointers import escape
from webhook.reviews.admission import Answer, Request
from webhook.reviews.lookups import ReviewLookups
from webhook.reviews.patching import Operations, applied
from webhook.reviews.templates import TemplateRequest
from webhook.steps.missing_names import missing_of_template
from webhook.steps.templates import is_being_written, within
from webhook.steps.users import note_on_template

_OWNERS = ("jobs", "cronjobs", "deployments", "statefulsets")
"""What Kueue queues by a label of its own, or by that of the Jobs that it makes. What these make has their template."""


def taken_over(request: Request, world: ReviewLookups) -> Operations:
    """Give a pod what its labels of Kueue stand for."""
    if not kueue_labels.are_accepted(world.namespace_labels(request.namespace)):
        return ()
    metadata = request.pod.get("metadata") or {}
    annotations = metadata.get("annotations") or {}
    return (
        *_added("labels", metadata.get("labels"), kueue_labels.labels_of_pod(metadata.get("labels") or {})),
        *_added("annotations", annotations, kueue_labels.annotations_of_pod(annotations)),
    )


def mutate_owner(request: TemplateRequest, world: ReviewLookups) -> Answer:
    """Take the labels of Kueue over into the template, note its user, and warn of names that nothing has."""
    metadata, labels = _metadata(request), lacking_labels(request, world)
    inside = _added("labels", metadata.get("labels"), labels)
    if QUEUE_NAME in labels:
        inside += _added("annotations", metadata.get("annotations"), _gang(request))
    pod = applied(request.inner.pod, inside) if inside else request.inner.pod
    noted = note_on_template(replace(request, inner=replace(request.inner, pod=pod)), world)
    begins: Operations = ({"op": "add", "path": "/spec/suspend", "value": False},) if _waits(request, world) else ()
    return Answer(
        operations=(*within(request.workload.path, inside), *noted.operations, *begins),
        warnings=missing_of_template(request, pod, world),
    )


def lacking_labels(request: TemplateRequest, world: ReviewLookups) -> dict[str, str]:
    """Return the labels that the template has to have, where this request writes it."""
    if not (request.kind in _OWNERS and is_being_written(request) and _is_accepted(request, world)):
        return {}
    return kueue_labels.labels_of_template(request.labels, _metadata(request).get("labels") or {})


def _gang(request: TemplateRequest) -> dict[str, str]:
    if request.kind not in ("jobs", "cronjobs"):
        return {}
    labels, annotations = (_metadata(request).get(part) or {} for part in ("labels", "annotations"))
    return kueue_labels.annotations_of_template(labels, annotations, parallelism=request.parallelism)


def _waits(request: TemplateRequest, world: ReviewLookups) -> bool:
    """Whether it is a new Job that Kueue would begin, and not what else made it, such as a JobSet."""
    is_new_job = request.kind == "jobs" and request.inner.operation == "CREATE" and not request.is_of_another
    may_begin = is_new_job and request.is_suspended and not request.has_deadline
    return may_begin and bool(request.labels.get(KUEUE_QUEUE)) and _is_accepted(request, world)


def _is_accepted(request: TemplateRequest, world: ReviewLookups) -> bool:
    return kueue_labels.are_accepted(world.namespace_labels(request.inner.namespace))


def _metadata(request: TemplateRequest) -> Mapping[str, Any]:
    return request.inner.pod.get("metadata") or {}


def _added(part: str, present: Mapping[str, str] | None, added: Mapping[str, str]) -> Operations:
    if added and present is None:
        return ({"op": "add", "path": f"/metadata/{part}", "value": dict(added)},)
    return tuple({"op": "add", "path": f"/metadata/{part}/{escape(key)}", "value": added[key]} for key in added)
