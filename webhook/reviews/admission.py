"""AdmissionReview (admission.k8s.io/v1) in and out. Knows the envelope, not what is done to the pod."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
import orjson

from controller.core.kubernetes.directives import Directives
from controller.core.pod_policies.policies import Outcome
from webhook.reviews.forms import RequestForm

_API_VERSION = "admission.k8s.io/v1"
_WARNING_ROOM = 250
_WARNINGS_MOST = 12
_TEXT_ROOM = 4_096
"""Of a denial and of an audit annotation, in characters: what pods say in them is as long as its writer likes."""

_UID = re.compile(rb'"request"\s*:\s*\{\s*"uid"\s*:\s*"([0-9a-fA-F-]{1,64})"')
_HEAD_BYTES = 1_024
"""The apiserver begins a review with its kind and the request's uid."""

_CONTAINERS_MOST = 300_000
"""Lists and objects in a review, counted by their brackets, in texts too: each takes up to 232 bytes of memory."""


class BadReview(Exception):
    """The body is no AdmissionReview that can be answered; the text says why."""


class Unreadable(BadReview):
    """A review by the apiserver, of this uid, of an object that cannot be read: it is refused.

    Left without an answer it would be let by where the failure policy is Ignore, and what the apiserver takes and we
    cannot read is nothing that happens by accident.
    """

    def __init__(self, uid: str, text: str) -> None:
        super().__init__(text)
        self.uid = uid


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """The parts of an AdmissionRequest that steps and checks read. `pod` is the object as it would be stored.

    `old` is the object as it is stored, None when there is none yet. Of a workload both are its pod template.
    """

    uid: str
    operation: str
    namespace: str
    subresource: str
    user: str
    groups: tuple[str, ...]
    pod: Mapping[str, Any]
    old: Mapping[str, Any] | None = None
    directives: Directives | None = None
    """Of the pod, where a step before has read or made them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the apiserver is told. With `denial` the request is refused and nothing else matters."""

    operations: tuple[dict[str, Any], ...] = ()
    warnings: tuple[str, ...] = ()
    audit: tuple[tuple[str, str], ...] = ()
    denial: str | None = None
    counted: tuple[tuple[str, str], ...] = ()
    """What becomes of policies, (policy, result), for the metrics alone."""
    outcome: Outcome | None = None
    """What each pod scheduling policy came to, for who explains the answer to people."""

    def __add__(self, more: Answer) -> Answer:
        """Both, one after the other."""
        return Answer(
            operations=(*self.operations, *more.operations),
            warnings=(*self.warnings, *more.warnings),
            audit=(*self.audit, *more.audit),
            denial=self.denial or more.denial,
            counted=(*self.counted, *more.counted),
        )


NOTHING = Answer()
"""Of a step that has nothing to do with the pod, as most have with most."""


def read(body: bytes | bytearray) -> Request:
    """Read the request of a review of pods.

    Raises BadReview when the body is not JSON, not a v1 AdmissionReview, or not about pods.
    """
    request = opened(body)
    if resource_of(request) != ("", "pods") or request.get("subResource"):
        raise BadReview("request.resource is not core/v1 pods alone; correct the rules of the webhook configuration")
    return request_of(request)


def opened(body: bytes | bytearray) -> dict[str, Any]:
    """Take the request out of its envelope. Raises BadReview."""
    if len(body) > _CONTAINERS_MOST and body.count(b"{") + body.count(b"[") > _CONTAINERS_MOST:
        why = f"has more than {_CONTAINERS_MOST:,} lists and objects"
        raise unread(body, why, "use fewer of them")
    try:
        review = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise unread(body, f"is not JSON: {error}", "nest it less deeply") from None
    if not isinstance(review, dict) or review.get("kind") != "AdmissionReview":
        raise BadReview("the body is not an AdmissionReview")
    if review.get("apiVersion") != _API_VERSION:
        raise BadReview(f"apiVersion {review.get('apiVersion')!r}: only {_API_VERSION} is spoken here")
    request = review.get("request")
    if not isinstance(request, dict) or not isinstance(request.get("uid"), str):
        raise BadReview("request.uid is missing")
    return request


def unread(body: bytes | bytearray, why: str, remedy: str) -> BadReview:
    """What becomes of a body, or of its beginning, that is not read: where the apiserver wrote it, a refusal."""
    found = _UID.search(body[:_HEAD_BYTES])
    if found is None:
        return BadReview(f"the body {why}")
    return Unreadable(found[1].decode(), f"the object cannot be read by Penstock, since its review {why}; {remedy}")


def resource_of(request: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return group and plural name of what the request is about; None when it does not say."""
    resource = request.get("resource")
    named = resource if isinstance(resource, dict) else {}
    group, plural = named.get("group"), named.get("resource")
    return (group, plural) if isinstance(group, str) and isinstance(plural, str) else None


def request_of(request: Mapping[str, Any]) -> Request:
    """Read a request whose object is a pod, or has been replaced by the pod template in it. Raises BadReview."""
    try:
        form = msgspec.convert(request, RequestForm)
    except msgspec.ValidationError as error:
        raise Unreadable(request["uid"], f"request: {error}") from None
    return Request(
        uid=form.uid,
        operation=form.operation,
        namespace=form.namespace,
        subresource=form.subresource or "",
        user=form.user.username,
        groups=tuple(form.user.groups or ()),
        pod=request.get("object") or {},
        old=request.get("oldObject"),
    )


def write(uid: str, answer: Answer) -> bytes:
    """Write the review that answers the request of this uid."""
    response: dict[str, Any] = {"uid": uid, "allowed": answer.denial is None}
    if answer.denial is not None:
        response["status"] = {"code": 403, "reason": "Forbidden", "message": cut(answer.denial)}
    elif answer.operations:
        response["patchType"] = "JSONPatch"
        response["patch"] = base64.b64encode(orjson.dumps(answer.operations)).decode()
    if answer.warnings:
        response["warnings"] = [warning[:_WARNING_ROOM] for warning in answer.warnings[:_WARNINGS_MOST]]
    if answer.audit:
        response["auditAnnotations"] = {name: cut(text) for name, text in answer.audit}
    return orjson.dumps({"apiVersion": _API_VERSION, "kind": "AdmissionReview", "response": response})


def cut(text: str) -> str:
    """Shorten what is said of a pod to what people read."""
    return text if len(text) <= _TEXT_ROOM else f"{text[:_TEXT_ROOM]}… ({len(text) - _TEXT_ROOM:,} more characters)"
