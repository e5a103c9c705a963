"""Reviews of what is validated: pods, their subresources, and Bindings, as the checks see them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from webhook.reviews.admission import BadReview, Request, Unreadable, opened, request_of, resource_of

BINDING: Final = "binding"
"""Subresource of a request whose object is a Binding: its `pod` has the Binding's metadata and nothing else."""
STATUS: Final = "status"
RESIZE: Final = "resize"
_PODS = ("", "pods")
_LEGACY_BINDINGS = ("", "bindings")


class _Binding(msgspec.Struct):
    metadata: dict[str, Any] | None = None


def read_validated(body: bytes | bytearray) -> Request:
    """Read the request of a review of pods, of a subresource of pods or of Bindings. Raises BadReview."""
    request = opened(body)
    resource = resource_of(request)
    if resource == _LEGACY_BINDINGS or (resource == _PODS and request.get("subResource") == BINDING):
        return request_of({**request, "subResource": BINDING, "object": _as_pod(request)})
    if resource != _PODS:
        raise BadReview(
            "request.resource is neither core/v1 pods nor bindings; correct the rules of the webhook configuration"
        )
    return request_of(request)


def _as_pod(request: Mapping[str, Any]) -> Mapping[str, Any]:
    try:
        metadata = msgspec.convert(request.get("object"), _Binding).metadata
    except msgspec.ValidationError as error:
        raise Unreadable(request["uid"], f"request.object: {error}") from None
    return {"metadata": metadata or {}, "spec": {}}
