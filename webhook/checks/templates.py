"""Check of what makes pods from a template: the template names its queue and its user as the steps would have it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controller.core.gate.protection import Rule
from controller.core.keys import KUEUE_LABELS, KUEUE_QUEUE, QUEUE_NAME, USER
from webhook.pods.creators import actor
from webhook.reviews.admission import NOTHING, Answer
from webhook.reviews.lookups import ReviewLookups
from webhook.reviews.templates import TemplateRequest
from webhook.steps.kueue_labels import lacking_labels
from webhook.steps.users import is_concerned, right_note


def check_owner(request: TemplateRequest, world: ReviewLookups) -> Answer:
    """Refuse a template whose pods would run without the queue that Kueue's label names, and forged notes."""
    if QUEUE_NAME not in lacking_labels(request, world) or actor(request.inner, world).is_trusted:
        return check_note(request, world)
    path = f"{request.path}.metadata.labels[{QUEUE_NAME}]"
    what = f"is missing: the namespace has the label {KUEUE_LABELS}, and {KUEUE_QUEUE} names a queue"
    return Answer(denial=f"{Rule.GATE_REQUIRED}: {path}: {what}; create it again: Penstock adds it")


def check_note(request: TemplateRequest, world: ReviewLookups) -> Answer:
    """Refuse a note on a template that is not as it has to be: nothing has put it right."""
    inner = request.inner
    if not is_concerned(request, world) or actor(inner, world).is_trusted:
        return NOTHING
    noted, right = _noted(inner.pod), right_note(request, world)
    if noted == right or (noted is None and inner.operation == "CREATE"):
        return NOTHING
    what = f"would be {_quoted(noted)} and has to be {_quoted(right)}: only Penstock writes this"
    path = f"{request.path}.metadata.annotations[{USER}]"
    return Answer(denial=f"{Rule.USER_IS_TRUE}: {path}: {what}; leave it as it was, or leave it out of new objects")


def _noted(pod: Mapping[str, Any]) -> str | None:
    noted: str | None = ((pod.get("metadata") or {}).get("annotations") or {}).get(USER)
    return noted


def _quoted(value: str | None) -> str:
    return "absent" if value is None else repr(value)
