"""Refusals as Kubernetes writes them: a Status object with code, reason and a message that says what to do."""

from __future__ import annotations

from typing import Any, Final

_REASONS: Final = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    405: "MethodNotAllowed",
    406: "NotAcceptable",
    410: "Expired",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}


class Refused(Exception):
    """A request is not answered: the HTTP status, and one sentence for its sender.

    `retry_seconds`: after so many whole seconds it is worth another try; 0: it is not by waiting alone.
    """

    def __init__(self, code: int, message: str, *, retry_seconds: int = 0) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.retry_seconds = retry_seconds

    def status(self) -> dict[str, Any]:
        """Return the Status object."""
        details = {"details": {"retryAfterSeconds": self.retry_seconds}} if self.retry_seconds else {}
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


def not_found(what: str, name: str) -> Refused:
    """Say, as the apiserver does, that there is no such object."""
    return Refused(404, f'{what} "{name}" not found')
