"""Refusals as Kubernetes writes them: a Status object with code, reason and a message that says what to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from controller.extension_api.resources import GROUP, Resource

_REASONS: Final = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    405: "MethodNotAllowed",
    406: "NotAcceptable",
    410: "Expired",
    413: "RequestEntityTooLarge",
    415: "UnsupportedMediaType",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}


class Refused(Exception):
    """A request is not answered: the HTTP status, and one sentence for its sender.

    `retry_seconds`: after so many whole seconds it is worth another try; 0: it is not by waiting alone. `details` are
    those of the Status, for programs.
    """

    def __init__(
        self, code: int, message: str, *, retry_seconds: int = 0, details: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.retry_seconds = retry_seconds
        self.details = {**(details or {}), **({"retryAfterSeconds": retry_seconds} if retry_seconds else {})}

    def status(self) -> dict[str, Any]:
        """Return the Status object."""
        details = {"details": self.details} if self.details else {}
        return {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "reason": _REASONS[self.code],
            **details,
            "code": self.code,
        }


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with a field of what was sent, by its path such as `spec.runs`, and what may stand there."""

    field: str
    text: str


def invalid(kind: str, name: str, faults: Sequence[Fault]) -> Refused:
    """Say, as the apiserver's validation does, which fields of an object of ours cannot be taken as they are."""
    told = "; ".join(f"{one.field}: {one.text}" for one in faults)
    causes = [{"reason": "FieldValueInvalid", "message": one.text, "field": one.field} for one in faults]
    details = {"name": name, "group": GROUP, "kind": kind, "causes": causes}
    return Refused(422, f'{kind}.{GROUP} "{name}" is invalid: {told}', details=details)


def not_found(what: str, name: str) -> Refused:
    """Say, as the apiserver does, that there is no such object."""
    return Refused(404, f'{what} "{name}" not found')


def not_supported(resource: Resource, verb: str) -> Refused:
    """Say what can be done with a resource in place of this."""
    return Refused(405, f"{verb} is not supported on {resource.path}; what is supported: {', '.join(resource.verbs)}")
