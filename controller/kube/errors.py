"""What can go wrong between us and the apiserver, as one tree.

    KubeError
    ├── ConfigError            the kubeconfig or the service account mount cannot be used
    ├── TooLarge               an answer is longer than who asked is ready to take
    ├── UnreadableObject       what the apiserver sent does not have the form of its kind
    ├── Unreachable            no answer: refused, reset, timed out; a write may or may not have happened
    │   └── Silent             a watch that was opened brought nothing for too long
    └── ApiError               the apiserver answered with a status that is not 2xx
        ├── Unauthorized 401   ├── Conflict 409        ├── TooManyRequests 429
        ├── Forbidden 403      ├── Gone 410            └── ServerError 5xx
        ├── NotFound 404       └── Invalid 422

Expected outcomes are values elsewhere; these are faults. Nothing here decides what to do next.
"""

from __future__ import annotations

from typing import Any, Final

import orjson

_MESSAGE_LIMIT = 2000


class KubeError(Exception):
    """Base of every fault at the edge to Kubernetes."""


class ConfigError(KubeError):
    """The connection settings cannot be used; the text says which file and what to do."""


class UnreadableObject(KubeError):
    """An object whose bytes do not have the form of its kind; the text says what and where."""


class TooLarge(KubeError):
    """The answer is longer than who asked is ready to take; what came of it is thrown away."""


class Unreachable(KubeError):
    """The request got no answer, so a write may or may not have taken effect."""


class Silent(Unreachable):
    """An open watch brought nothing for too long: the connection is dead, or nothing happened."""


class ApiError(KubeError):
    """The apiserver refused; `status` is the HTTP code, `reason` and `message` are the Status object's."""

    def __init__(self, status: int, reason: str, message: str, *, retry_after_seconds: float = 0.0) -> None:
        super().__init__(f"{status} {reason}: {message}" if reason else f"{status}: {message}")
        self.status = status
        self.reason = reason
        self.message = message
        self.retry_after_seconds = retry_after_seconds


class Unauthorized(ApiError):
    """401: the credentials are missing, expired or wrong."""


class Forbidden(ApiError):
    """403: RBAC or an admission plugin refused."""


class NotFound(ApiError):
    """404: the object or the whole kind does not exist."""


class Conflict(ApiError):
    """409: the object changed in between, or exists already."""


class Gone(ApiError):
    """410: the resourceVersion to continue from is too old; list again."""


class Invalid(ApiError):
    """422: validation refused, or the patch could not be applied (a failed `test` included)."""


class TooManyRequests(ApiError):
    """429: slow down for `retry_after_seconds`."""


WEBHOOK_AWAY: Final = "failed calling webhook"
"""With this text an apiserver says, with 500, that admission could not be asked: nothing of a write was applied."""


class ServerError(ApiError):
    """5xx: the apiserver failed; a write may or may not have taken effect, unless it says WEBHOOK_AWAY."""


_BY_STATUS: dict[int, type[ApiError]] = {
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Gone,
    422: Invalid,
    429: TooManyRequests,
}


def api_error(status: int, body: bytes, *, retry_after: str | None = None) -> ApiError:
    """Build the error for a non-2xx answer; the body is a Status object, or anything a proxy put there."""
    kind = _BY_STATUS.get(status, ServerError if status >= 500 else ApiError)
    reason, message = _read_status(body)
    return kind(status, reason, message, retry_after_seconds=_seconds(retry_after))


def one_line(error: BaseException) -> str:
    """Return an error's text for the middle of a sentence: on one line, never empty."""
    return " ".join(str(error).split()) or type(error).__name__


def _read_status(body: bytes) -> tuple[str, str]:
    try:
        status: Any = orjson.loads(body)
    except orjson.JSONDecodeError:
        status = None
    if isinstance(status, dict) and status.get("kind") == "Status":
        return str(status.get("reason") or ""), str(status.get("message") or "")[:_MESSAGE_LIMIT]
    return "", body[:_MESSAGE_LIMIT].decode("utf-8", "replace").strip() or "(no body)"


def _seconds(header: str | None) -> float:
    try:
        return max(0.0, float(header or 0))
    except ValueError:
        return 0.0
