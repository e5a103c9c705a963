"""Reviews of what is validated: pods, their subresources, and Bindings, each read by the form that its checks go by."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeVar

import msgspec

from webhook.review import BadReview, Request, Unreadable, opened, request_of, resource_of

_T = TypeVar("_T")

BINDING: Final = "binding"
"""Subresource of a request whose object is a Binding: its `pod` has the Binding's metadata and nothing else."""
STATUS: Final = "status"
RESIZE: Final = "resize"
_PODS = ("", "pods")
_LEGACY_BINDINGS = ("", "bindings")


class _Condition(msgspec.Struct):
    type: str = ""


class _Status(msgspec.Struct):
    conditions: list[_Condition] | None = None


class _WithStatus(msgspec.Struct):
    status: _Status | None = None


class _Resources(msgspec.Struct):
    requests: dict[str, str | int] | None = None


class _Container(msgspec.Struct):
    name: str
    resources: _Resources | None = None


class _Spec(msgspec.Struct):
    containers: list[_Container] | None = None
    init_containers: list[_Container] | None = msgspec.field(name="initContainers", default=None)
    resources: _Resources | None = None


class _WithRequests(msgspec.Struct):
    spec: _Spec


class _Binding(msgspec.Struct):
    metadata: dict[str, Any] | None = None


_FORMS: Final[Mapping[str, type[_WithStatus] | type[_WithRequests]]] = {STATUS: _WithStatus, RESIZE: _WithRequests}
"""What is read of a pod beyond what `review` knows, by subresource."""


def read_validated(body: bytes) -> Request:
    """Read the request of a review of pods, of a subresource of pods or of Bindings. Raises BadReview."""
    request = opened(body)
    resource = resource_of(request)
    if resource == _LEGACY_BINDINGS or (resource == _PODS and request.get("subResource") == BINDING):
        metadata = _converted(request, "object", _Binding).metadata or {}
        return request_of({**request, "subResource": BINDING, "object": {"metadata": metadata, "spec": {}}})
    if resource != _PODS:
        raise BadReview(
            "request.resource is neither core/v1 pods nor bindings; correct the rules of the webhook configuration"
        )
    form = _FORMS.get(str(request.get("subResource")))
    for which in ("object", "oldObject"):
        if form is not None and request.get(which) is not None:
            _converted(request, which, form)
    return request_of(request)


def _converted(request: Mapping[str, Any], which: str, form: type[_T]) -> _T:
    try:
        return msgspec.convert(request.get(which), form)
    except msgspec.ValidationError as error:
        raise Unreadable(request["uid"], f"request.{which}: {error}") from None
