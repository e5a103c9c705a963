"""Kueue's labels on pods and on what makes pods, where their namespace accepts them. Which: `core.gate.kueue_labels`.

Pods get ours beside them. Kueue reads the label of a Deployment, not of its template: so the template gets ours. A Job
gets ours itself, and is held as a whole (`jobs`), but not one that something else than a CronJob made, which says when
it begins: of that the pods are held.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from controller.core.gate import kueue_labels
from controller.core.keys import KUEUE_QUEUE, QUEUE_NAME
from webhook.reviews.admission import Answer, Request
from webhook.reviews.lookups import ReviewLookups
from webhook.reviews.patching import Operations, added, applied
from webhook.reviews.templates import TemplateRequest
from webhook.steps.job_growth import keep_parallelism
from webhook.steps.jobs import accepts, hold_job
from webhook.steps.missing_names import missing_of_template
from webhook.steps.templates import is_being_written, within
from webhook.steps.users import note_on_template

_OWNERS = ("jobs", "cronjobs", "deployments", "statefulsets")
"""What Kueue queues by a label of its own or of its template. What these make has their template."""


def taken_over(request: Request, world: ReviewLookups) -> Operations:
    """Give a pod what its labels of Kueue stand for."""
    if not kueue_labels.are_accepted(world.namespace_labels(request.namespace)):
        return ()
    metadata = request.pod.get("metadata") or {}
    annotations = metadata.get("annotations") or {}
    return (
        *added("labels", metadata.get("labels"), kueue_labels.labels_of_pod(metadata.get("labels") or {})),
        *added("annotations", annotations, kueue_labels.annotations_of_pod(annotations)),
    )


def mutate_owner(request: TemplateRequest, world: ReviewLookups) -> Answer:
    """Hold a Job, take labels of Kueue over into the template, note its user, and warn of names that nothing has."""
    if request.kind == "jobs" and request.inner.operation == "UPDATE":
        held = keep_parallelism(request, world)
    else:
        held, request = hold_job(request, world)
    metadata, labels = _metadata(request), lacking_labels(request, world)
    inside = added("labels", metadata.get("labels"), labels)
    if QUEUE_NAME in labels:
        inside += added("annotations", metadata.get("annotations"), _gang(request))
    pod = applied(request.inner.pod, inside) if inside else request.inner.pod
    noted = note_on_template(replace(request, inner=replace(request.inner, pod=pod)), world)
    return held + Answer(
        operations=(*within(request.workload.path, inside), *noted.operations),
        warnings=missing_of_template(request, pod, world),
    )


def lacking_labels(request: TemplateRequest, world: ReviewLookups) -> dict[str, str]:
    """Return the labels that the template has to have, where this request writes it."""
    if not (request.kind in _OWNERS and is_being_written(request) and accepts(request, world)):
        return {}
    if request.kind == "jobs" and _is_held(request):
        return {}
    # the Jobs of a CronJob get theirs when they are made
    owner = {} if request.kind == "cronjobs" else request.makes.labels
    return kueue_labels.labels_of_template(owner, _metadata(request).get("labels") or {})


def _is_held(request: TemplateRequest) -> bool:
    """Whether the Job is held as a whole, or would have been if it were created now."""
    job = request.makes
    return job.queue is not None or (job.runs_here and not request.is_of_another and bool(job.labels.get(KUEUE_QUEUE)))


def _gang(request: TemplateRequest) -> dict[str, str]:
    if request.kind not in ("jobs", "cronjobs"):
        return {}
    labels, annotations = (_metadata(request).get(part) or {} for part in ("labels", "annotations"))
    return kueue_labels.annotations_of_template(labels, annotations, parallelism=request.makes.parallelism)


def _metadata(request: TemplateRequest) -> Mapping[str, Any]:
    return request.inner.pod.get("metadata") or {}
