"""Check of what makes pods from a template: it names its queue and its user as the steps would have it.

Of Jobs also that those of a queue stay held, and our keys ours. The rules are in the core.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from controller.core.gate import job_protection
from controller.core.gate.protection import Rule
from controller.core.keys import KUEUE_LABELS, KUEUE_QUEUE, QUEUE_NAME, USER
from webhook.pods.creators import actor
from webhook.reviews.admission import NOTHING, Answer
from webhook.reviews.lookups import ReviewLookups
from webhook.reviews.templates import TemplateRequest
from webhook.steps.kueue_labels import lacking_labels
from webhook.steps.users import is_concerned, right_note


def check_owner(request: TemplateRequest, world: ReviewLookups) -> Answer:
    """Refuse what frees a Job, a template whose pods would run without the queue of Kueue's label, and forged notes."""
    texts = tuple(_faults_of_job(request, world)) if request.kind == "jobs" else ()
    if texts:
        return Answer(denial="; ".join(texts), audit=(("protected", "; ".join(texts)),))
    if QUEUE_NAME not in lacking_labels(request, world) or actor(request.inner, world).is_trusted:
        return check_note(request, world)
    path = f"{request.path}.metadata.labels[{QUEUE_NAME}]"
    what = f"is missing: the namespace has the label {KUEUE_LABELS}, and {KUEUE_QUEUE} names a queue"
    return Answer(denial=f"{Rule.GATE_REQUIRED}: {path}: {what}; create it again: Penstock adds it")


def _faults_of_job(request: TemplateRequest, world: ReviewLookups) -> Iterator[str]:
    inner, new, old = request.inner, request.makes, request.former
    who = actor(inner, world)
    if inner.operation == "CREATE" and not inner.subresource:
        labels = world.namespace_labels(inner.namespace)
        yield from job_protection.new_job_is_held(new, who, labels, is_of_another=request.is_of_another)
        yield from job_protection.new_job_has_no_stamps(new, who)
    elif inner.operation == "UPDATE" and old is not None:
        yield from job_protection.job_keys_are_ours(old, new, who)
        yield from job_protection.wish_is_a_number(old, new, who)
        if not inner.subresource:
            yield from job_protection.job_stays_held(old, new, who)
            yield from job_protection.template_is_fixed(old, new, who)
            yield from job_protection.job_does_not_grow(old, new, who)
            yield from job_protection.job_runs_no_longer(old, new, who)


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
