"""Warnings of names that nothing has: of the LocalQueue and the WorkloadPriorityClass of pods, and of templates.

They are warnings and no refusals, since objects are applied in any order.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any, Final

from controller.core.keys import PRIORITY_CLASS, QUEUE_NAME
from webhook.reviews.lookups import ReviewLookups
from webhook.reviews.templates import TemplateRequest
from webhook.steps.templates import is_being_written, is_made_from_another

_COMPARED: Final = 1_000
"""Names of so many LocalQueues are compared with a misspelt one: to find the nearest of very many would take long."""


def missing_queue(namespace: str, queue: str, world: ReviewLookups, whose: str = "the pod stays") -> tuple[str, ...]:
    """Warn of a LocalQueue that does not exist; propose one with a similar name."""
    if world.has_local_queue(namespace, queue):
        return ()
    known = list(world.local_queues_in(namespace))[:_COMPARED]
    near = difflib.get_close_matches(queue, known, n=1)
    meant = f"; did you mean {near[0]!r}?" if near else ""
    text = f"LocalQueue {queue!r} does not exist in namespace {namespace!r}: {whose} queued until it does"
    return (f"{text} (QueueNotFound){meant}",)


def missing_class(labels: Mapping[str, str], world: ReviewLookups, whose: str = "the pod stays") -> tuple[str, ...]:
    """Warn of a WorkloadPriorityClass that does not exist."""
    named = labels.get(PRIORITY_CLASS)
    if named is None or world.has_priority_class(named):
        return ()
    text = f"WorkloadPriorityClass {named!r} does not exist: {whose} queued until it does, or its label is corrected"
    return (f"{text} (PriorityClassNotFound)",)


def missing_of_template(request: TemplateRequest, template: Mapping[str, Any], world: ReviewLookups) -> tuple[str, ...]:
    """Warn whoever writes what makes pods of names in its `template`, as it will be stored, that nothing has.

    Not of a DaemonSet, whose pods wait in no queue, nor of what a controller makes from another template: its maker was
    warned, and a program reads no warnings. The labels of a Job itself count before those of its template.
    """
    labels: Mapping[str, str] = (template.get("metadata") or {}).get("labels") or {}
    queue, whose = labels.get(QUEUE_NAME), f"pods of {request.path} stay"
    if request.kind in ("jobs", "cronjobs"):
        job = request.makes
        if job.queue is not None:
            queue, whose = job.queue, "the Job stays" if request.kind == "jobs" else "the Jobs stay"
        if PRIORITY_CLASS in job.labels:
            labels = {**labels, PRIORITY_CLASS: job.labels[PRIORITY_CLASS]}
    if queue is None or request.kind == "daemonsets":
        return ()
    if not is_being_written(request) or is_made_from_another(request, world):
        return ()
    return (*missing_queue(request.inner.namespace, queue, world, whose), *missing_class(labels, world, whose))
