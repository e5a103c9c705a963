"""What goes wrong between the page and the cluster, as the page shows it: what, and what to do."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from controller.extension_api.reading import is_of_no_object
from controller.kube.errors import (
    ApiError,
    Forbidden,
    KubeError,
    NotFound,
    Unauthorized,
    Unreachable,
    UnreadableObject,
    one_line,
)
from controller.kube.rights import Right, what_to_ask_for

_UNAVAILABLE: Final = frozenset({429, 503})


class Problem(Struct, frozen=True, rename="camel"):
    """`kind` is one word for programs, `message` what happened, `advice` what to do; empty: nothing to be done."""

    kind: str
    message: str
    advice: str = ""


def problem(error: KubeError) -> Problem:
    """Return what a fault means to whoever looks at the page."""
    if isinstance(error, NotFound) and is_of_no_object(error):
        return Problem(
            "notServed",
            "This cluster does not serve the visibility API, or a version without this part.",
            "Set visibility.enabled=true in the Helm chart, or add the component config/components/visibility.",
        )
    if isinstance(error, NotFound):
        return Problem("notFound", error.message)
    if isinstance(error, Forbidden):
        right = Right.refused(error.message)
        return Problem("forbidden", error.message, "" if right is None else _sentence(what_to_ask_for([right])))
    if isinstance(error, Unauthorized):
        return Problem("signedOut", "The apiserver does not accept these credentials.", "Log in again.")
    if isinstance(error, ApiError) and error.status in _UNAVAILABLE:
        told = error.message or one_line(error)
        return Problem("notAnswering", told, "The page asks again. penstock doctor shows whether a controller leads.")
    if isinstance(error, UnreadableObject):
        return Problem("otherVersion", one_line(error), "Use a page and a controller of the same version.")
    if isinstance(error, Unreachable):
        return Problem("unreachable", one_line(error), "The page asks again.")
    return Problem("failed", one_line(error))


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."
