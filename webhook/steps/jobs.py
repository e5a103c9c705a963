"""Step for new Jobs: those of a queue are suspended, and held as a whole; copied stamps go, whether or not it has one.

Which Jobs are held, and for which queue: `core.gate.job_protection`. Stamps are taken out of the template of every Job,
since the pods of a Job believe them. A queue that a Job has of its template alone comes off the Job: its pods are held.
The label that says so stays in its place, since the apiserver makes the labels of the template those of a Job without.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from controller.core.gate.job_protection import GuardedJob, queue_for, stamps_on_job
from controller.core.gate.kueue_labels import annotations_of_job, are_accepted, topology_of_pods
from controller.core.keys import HOLD, HOLD_PODS, KUEUE_PRIORITY_CLASS, PRIORITY_CLASS, QUEUE_NAME
from controller.core.kubernetes.pointers import escape
from webhook.reviews.admission import NOTHING, Answer
from webhook.reviews.lookups import ReviewLookups
from webhook.reviews.patching import Operations, added, applied
from webhook.reviews.templates import TemplateRequest
from webhook.steps.templates import within

_MAKERS = ("jobs", "cronjobs")
_OF_PODS: Operations = (
    {"op": "remove", "path": f"/metadata/labels/{escape(QUEUE_NAME)}"},
    {"op": "add", "path": f"/metadata/labels/{escape(HOLD)}", "value": HOLD_PODS},
)


def held_for(request: TemplateRequest, world: ReviewLookups) -> str | None:
    """Return the LocalQueue for which the Job is held as a whole, or the Jobs that the CronJob will make."""
    if request.kind not in _MAKERS:
        return None
    if request.kind == "jobs" and request.inner.operation != "CREATE":
        return request.makes.queue
    labels = world.namespace_labels(request.inner.namespace)
    return queue_for(request.makes, labels, is_of_another=request.is_of_another)


def hold_job(request: TemplateRequest, world: ReviewLookups) -> tuple[Answer, TemplateRequest]:
    """Suspend a new Job of a queue and write the queue on it; return the request as the Job is then."""
    inner, job = request.inner, request.makes
    is_new = request.kind == "jobs" and inner.operation == "CREATE" and not inner.subresource and bool(inner.pod)
    if not is_new:
        return NOTHING, request
    stripped = _without_stamps(job)
    queue = held_for(request, world)
    if job.runs_here and job.has_labels_of_template:
        stripped += _OF_PODS
    if queue is None and not stripped:
        return NOTHING, request
    holder = {"metadata": {**job.metadata}, "spec": {"template": job.template, "suspend": job.is_suspended}}
    bare = applied(holder, stripped)
    held = () if queue is None else tuple(_holding(job, bare["metadata"], queue, accepts(request, world)))
    names = ", ".join(dict.fromkeys(key for _, _, key in stamps_on_job(job)))
    answer = Answer(
        operations=(*stripped, *held),
        warnings=(f"removed {names}: only Penstock writes these, when it admits the Job",) if names else (),
        audit=(*((("queue", queue),) if queue is not None else ()), *((("stripped", names),) if names else ())),
    )
    return answer, _as_it_is_then(request, applied(bare, held))


def _without_stamps(job: GuardedJob) -> Operations:
    return tuple(
        {"op": "remove", "path": f"{'/spec/template' if inside else ''}/metadata/{part}/{escape(key)}"}
        for inside, part, key in stamps_on_job(job)
    )


def _holding(job: GuardedJob, metadata: Mapping[str, Any], queue: str, takes_kueues: bool) -> Iterator[dict[str, Any]]:
    labels, own = metadata["labels"], metadata["annotations"]
    new = {} if QUEUE_NAME in labels else {QUEUE_NAME: queue}
    if takes_kueues and labels.get(KUEUE_PRIORITY_CLASS) and PRIORITY_CLASS not in labels:
        new[PRIORITY_CLASS] = labels[KUEUE_PRIORITY_CLASS]
    yield from added("labels", labels or None, new)
    yield from added("annotations", own or None, annotations_of_job(labels, own) if takes_kueues else {})
    present = job.of_template.get("annotations")
    notes = topology_of_pods(present or {}) if takes_kueues else {}
    yield from within(("spec", "template"), added("annotations", present, notes))
    if not job.is_suspended:
        yield {"op": "add", "path": "/spec/suspend", "value": True}


def accepts(request: TemplateRequest, world: ReviewLookups) -> bool:
    """Whether the namespace has Kueue's labels taken for ours."""
    return are_accepted(world.namespace_labels(request.inner.namespace))


def _as_it_is_then(request: TemplateRequest, holder: Mapping[str, Any]) -> TemplateRequest:
    template = holder["spec"]["template"]
    makes = replace(
        request.makes,
        labels=holder["metadata"]["labels"],
        annotations=holder["metadata"]["annotations"],
        template=template,
        is_suspended=holder["spec"]["suspend"],
    )
    return replace(request, makes=makes, inner=replace(request.inner, pod=template))
