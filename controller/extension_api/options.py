"""Reads the parameters and the Accept header of a request. What is not understood is refused, never passed over."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

import msgspec

from controller.extension_api.statuses import Refused

_LONGEST_SECONDS: Final = 60.0
_ANYTHING: Final = ("*/*", "application/*", "application/json")


class Form(Enum):
    """How objects are written: as they are, or as the rows of a table (`Accept: …;as=Table`)."""

    OBJECTS = "objects"
    TABLE = "table"


class IncludeObject(Enum):
    """What a row of a table has beside its cells."""

    NOTHING = "None"
    METADATA = "Metadata"
    OBJECT = "Object"


@dataclass(frozen=True, slots=True)
class Options:
    """`limit` 0: all there is. `after` is where the page before ended. An answer may take `seconds`.

    `parameters` are those of the resource alone, each with its values.
    """

    limit: int = 0
    after: str = ""
    include: IncludeObject = IncludeObject.METADATA
    seconds: float = _LONGEST_SECONDS
    parameters: Mapping[str, Sequence[str]] = field(default_factory=dict)


class _Token(msgspec.Struct):
    path: str
    after: str


_token = msgspec.json.Decoder(_Token)


def write_token(path: str, after: str) -> str:
    """Return what a client sends as `continue` to go on behind `after`; only at this path."""
    return base64.urlsafe_b64encode(msgspec.json.encode(_Token(path, after))).decode()


def read_options(path: str, parameters: Mapping[str, str], *, is_list: bool, known: Collection[str] = ()) -> Options:
    """Return what the parameters ask for; `known` are those of the resource, which may be repeated.

    Raises Refused, 400, and 405 for a watch.
    """
    limit, after, include, seconds = 0, "", IncludeObject.METADATA, _LONGEST_SECONDS
    of_resource = {name: [value for one, value in parameters.items() if one == name] for name in known if is_list}
    for name, value in ((name, value) for name, value in parameters.items() if name not in of_resource):
        match name:
            case "limit" if is_list:
                limit = _number(name, value)
            case "continue" if is_list:
                after = _read_token(path, value)
            case "includeObject":
                include = _include(value)
            case "timeout":
                seconds = min(seconds, _duration(value))
            case "timeoutSeconds" if is_list:
                seconds = min(seconds, _number(name, value) or seconds)
            case "resourceVersion" | "resourceVersionMatch" if value in ("", "0", "NotOlderThan"):
                continue  # any state will do, as that of now does
            case "watch" if value not in ("", "0", "false"):
                raise Refused(
                    405, "watch is not supported, because the answer is computed at each request; list again instead"
                )
            case "pretty" | "watch" if value in ("", "0", "false"):
                continue
            case _:
                raise Refused(400, f"parameter {name}={value} is not supported; leave it out")
    return Options(limit, after, include, seconds, of_resource)


def read_creation_options(parameters: Mapping[str, str]) -> float:
    """Return how many seconds the answer to what was sent may take. Raises Refused, 400."""
    seconds = _LONGEST_SECONDS
    for name, value in parameters.items():
        match name:
            case "timeout":
                seconds = min(seconds, _duration(value))
            case "fieldManager" | "dryRun":
                continue  # nobody keeps what was sent, nor who sent it
            case "fieldValidation" if value not in ("", "Strict"):
                told = "a field that does not exist is always refused; leave it out"
                raise Refused(400, f"parameter {name}={value}: {told}")
            case "fieldValidation":
                continue
            case "pretty" if value in ("", "0", "false"):
                continue
            case _:
                raise Refused(400, f"parameter {name}={value} is not supported; leave it out")
    return seconds


def read_form(accept: str, forms: Collection[Form] = tuple(Form)) -> Form:
    """Return the first of these forms that a client accepts. Raises Refused, 406."""
    for media, parameters in _accepted(accept):
        if media not in _ANYTHING:
            continue
        kind = parameters.get("as")
        if kind is None:
            return Form.OBJECTS
        is_table = (kind, parameters.get("g"), parameters.get("v")) == ("Table", "meta.k8s.io", "v1")
        if is_table and Form.TABLE in forms:
            return Form.TABLE
    table = ", and its form as=Table;g=meta.k8s.io;v=v1; accept one of both" if Form.TABLE in forms else "; accept that"
    raise Refused(406, f"only application/json is served{table}")


def _accepted(accept: str) -> Iterator[tuple[str, dict[str, str]]]:
    for choice in (accept or "*/*").split(","):
        media, *parameters = (part.strip() for part in choice.split(";"))
        pairs = (parameter.partition("=") for parameter in parameters)
        yield media.lower(), {name.strip(): value.strip() for name, _, value in pairs}


def _number(name: str, value: str) -> int:
    if not value.isdecimal() or len(value) > 9:
        raise Refused(400, f"parameter {name}={value}: write a whole number from 0 on")
    return int(value)


def _duration(value: str) -> float:
    """Read what client-go sends: Go's durations of whole seconds, such as 32s or 1m30s."""
    seconds, digits = 0, ""
    for character in value:
        if character.isdecimal() and len(digits) < 9:
            digits += character
        elif digits and character in "hms":
            seconds, digits = seconds + int(digits) * {"h": 3600, "m": 60, "s": 1}[character], ""
        else:
            raise Refused(400, f"parameter timeout={value}: write a duration such as 30s")
    if digits or not seconds:
        raise Refused(400, f"parameter timeout={value}: write a duration such as 30s")
    return seconds


def _include(value: str) -> IncludeObject:
    try:
        return IncludeObject(value or "Metadata")
    except ValueError:
        choices = ", ".join(one.value for one in IncludeObject)
        raise Refused(400, f"parameter includeObject={value}: choose one of {choices}") from None


def _read_token(path: str, value: str) -> str:
    if not value:
        return ""
    try:
        token = _token.decode(base64.b64decode(value, altchars=b"-_", validate=True))
    except (binascii.Error, msgspec.DecodeError, ValueError):
        raise Refused(400, "parameter continue: it is none that this server has given; list from the start") from None
    if token.path != path:
        raise Refused(400, f"parameter continue: it belongs to {token.path}; list {path} from the start")
    return token.after
