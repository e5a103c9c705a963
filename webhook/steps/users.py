"""Who the user of a queue's pod is (`core.gate.users`), noted on pods and on templates.

What a user or a template brings as such a note is put right without a word: templates carry true ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controller.core.gate.users import POD_MAKERS, noted_on_template, noted_user
from controller.core.keys import DEFAULT_QUEUE, QUEUE_NAME, USER
from controller.core.kubernetes.pointers import escape
from webhook.pods.creators import has_controller
from webhook.reviews.admission import NOTHING, Answer, Request
from webhook.reviews.lookups import ReviewLookups
from webhook.reviews.patching import Operations
from webhook.reviews.templates import TemplateRequest
from webhook.steps.jobs import held_for
from webhook.steps.templates import is_made_from_another, within


def user_noted(request: Request, world: ReviewLookups) -> Operations:
    """Note the user on a pod of a queue; of a request that nobody makes, as where people only ask, nothing."""
    annotations = _metadata(request.pod).get("annotations")
    user = noted_user(annotations or {}, request.user, is_from_template=is_from_template(request, world))
    return _noting(annotations, user or None)


def is_from_template(request: Request, world: ReviewLookups) -> bool:
    """Whether a controller makes the pod from its owner's template. Anybody can write an owner reference."""
    return has_controller(request) and (request.user in POD_MAKERS or world.makes_from_templates(request.user))


def note_on_template(request: TemplateRequest, world: ReviewLookups) -> Answer:
    """Note on a template who writes it, and keep the note that it has; of a request that nobody makes, nothing."""
    inner = request.inner
    if not is_concerned(request, world):
        return NOTHING
    operations = _noting(_metadata(inner.pod).get("annotations"), right_note(request, world) or None)
    return Answer(operations=within(request.workload.path, operations))


def is_concerned(request: TemplateRequest, world: ReviewLookups) -> bool:
    """Whether this request is one that may change the note of its template."""
    inner = request.inner
    if inner.operation not in ("CREATE", "UPDATE") or inner.subresource or request.is_terminating or not inner.pod:
        return False
    if inner.operation == "UPDATE" and world.trusts(inner.user):
        return False  # a release writes on the template of a Job, and makes nobody its user
    return inner.operation == "UPDATE" or not is_made_from_another(request, world)


def right_note(request: TemplateRequest, world: ReviewLookups) -> str | None:
    """Return the user that the template has to name; None where it must name nobody."""
    inner = request.inner
    is_queued = (
        QUEUE_NAME in (_metadata(inner.pod).get("labels") or {})
        or DEFAULT_QUEUE in world.namespace_labels(inner.namespace)
        or held_for(request, world) is not None
    )
    old = None if inner.operation == "CREATE" else _metadata(inner.old or {}).get("annotations") or {}
    new = _metadata(inner.pod).get("annotations") or {}
    is_written = is_queued and (inner.pod != inner.old or _enters_queue(request))
    return noted_on_template(old, new, inner.user, is_written=is_written)


def _enters_queue(request: TemplateRequest) -> bool:
    """Whether a Job is put into a queue after it was created, while its template can still be changed."""
    old = request.former
    if request.kind != "jobs" or old is None:
        return False
    return old.queue is None and request.makes.queue is not None and not old.has_started


def _noting(annotations: Mapping[str, str] | None, user: str | None) -> Operations:
    path = f"/metadata/annotations/{escape(USER)}"
    noted = (annotations or {}).get(USER)
    if noted == user:
        return ()
    if user is None:
        return ({"op": "remove", "path": path},)
    if annotations is None:
        return ({"op": "add", "path": "/metadata/annotations", "value": {USER: user}},)
    return ({"op": "add", "path": path, "value": user},)


def _metadata(pod: Mapping[str, Any]) -> Mapping[str, Any]:
    return pod.get("metadata") or {}
