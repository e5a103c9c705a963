"""Reads what a client sends to be answered: an object with a `spec`. What is not understood is refused, never ignored.

Each fault names the field by its path, with the value and what may stand there, as the apiserver's own validation does.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any, Final, get_args, get_origin

import msgspec
from msgspec import Meta, Struct

from controller.extension_api.resources import API_VERSION, Resource
from controller.extension_api.statuses import Fault, Refused, invalid

LIMIT: Final = 2**20
"""Bytes of a body."""
_FIELDS: Final = ("apiVersion", "kind", "metadata", "spec", "status")
_WHERE: Final = re.compile(r"^(?P<why>.*?)(?: - at `\$(?P<path>[^`]*)`)?$", re.DOTALL)
_UNKNOWN: Final = re.compile(r"unknown field `(?P<name>[^`]*)`")
_STEP: Final = re.compile(r"\.(?P<name>[^.\[]+)|\[(?P<number>\d+)\]")
_SHOWN: Final = 100
"""Characters of a value in a text."""


class SentMetadata(Struct, frozen=True, rename="camel", forbid_unknown_fields=True, omit_defaults=True):
    """What a client may say of an object that nobody keeps: it gets that back."""

    name: Annotated[str, Meta(description="A name; two objects may have the same.")] = ""
    namespace: Annotated[str, Meta(description="That of the request, where there is one.")] = ""
    labels: Annotated[dict[str, str], Meta(description="Texts by their keys.")] = {}
    annotations: Annotated[dict[str, str], Meta(description="Texts by their keys.")] = {}
    creation_timestamp: Annotated[None, Meta(description="Nothing: clients in Go write null.")] = None


@dataclass(frozen=True, slots=True)
class Sent:
    """An object that somebody wants to be answered."""

    metadata: SentMetadata
    spec: Struct


def read_sent(resource: Resource, form: type[Struct], body: bytes, namespace: str = "") -> Sent:
    """Read an object of the kind of a resource whose `spec` has this form, for a namespace or (empty) for none.

    Raises Refused, 400 and 422.
    """
    found = _parsed(body)
    for field, wanted in (("apiVersion", API_VERSION), ("kind", resource.kind)):
        if found.get(field) != wanted:
            raise Refused(400, f"{field} is {_shown(found.get(field))}: write {wanted}")
    metadata = found.get("metadata") or {}
    name = metadata.get("name") if isinstance(metadata, dict) else None
    reading = _Reading(resource.kind, name if isinstance(name, str) else "")
    reading.check(found)
    sent = Sent(reading.convert("metadata", metadata, SentMetadata), reading.convert("spec", found["spec"], form))
    reading.check_namespace(sent.metadata.namespace, namespace)
    return sent


@dataclass(frozen=True, slots=True)
class _Reading:
    kind: str
    name: str

    def check(self, found: dict[str, Any]) -> None:
        """Refuse fields that no object has, a status, and no spec."""
        for field, value in found.items():
            if field not in _FIELDS:
                raise self._invalid(field, f"unknown field; an object has {', '.join(_FIELDS[:-1])}")
            if field == "status" and value not in (None, {}):
                raise self._invalid(field, "is what the answer says: leave it out")
        if found.get("spec") is None:
            raise self._invalid("spec", "Required value: say what is asked; kubectl explain says how")

    def check_namespace(self, found: str, wanted: str) -> None:
        """Refuse another namespace than that of the request, which is empty where there is none."""
        if found not in ("", wanted):
            told = f"the request is for {f'the namespace {wanted}' if wanted else 'no namespace'}"
            raise self._invalid("metadata.namespace", f"Invalid value: {_shown(found)}: {told}")

    def convert(self, field: str, value: Any, form: type[Any]) -> Any:
        """Return a field in this form."""
        try:
            return msgspec.convert(value, form)
        except msgspec.ValidationError as error:
            raise self._fault(field, value, form, str(error)) from None

    def _fault(self, field: str, value: Any, form: type[Any], text: str) -> Refused:
        found = _WHERE.match(text)
        why, path = (text, "") if found is None else (found["why"], found["path"] or "")
        unknown = _UNKNOWN.search(why)
        if unknown is not None:
            known = ", ".join(one.encode_name for one in msgspec.structs.fields(form))
            return self._invalid(f"{field}{path}.{unknown['name']}", f"unknown field; there are {known}")
        expected = f"{why[:1].lower()}{why[1:]}".replace("`", "")
        described = _description(form, path)
        told = f"Invalid value: {_shown(_value_at(value, path))}: {expected}{f': {described}' if described else ''}"
        return self._invalid(f"{field}{path}", told)

    def _invalid(self, field: str, text: str) -> Refused:
        return invalid(self.kind, self.name, [Fault(field, text)])


def _parsed(body: bytes) -> dict[str, Any]:
    try:
        # not msgspec: this reader alone tells of a field that stands there twice
        found = json.loads(body, object_pairs_hook=_once, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        told = "it is nested too deep" if isinstance(error, RecursionError) else str(error)
        raise Refused(400, f"the body cannot be read as JSON: {told}") from None
    if not isinstance(found, dict):
        raise Refused(400, f"the body is {_shown(found)}: write an object with apiVersion, kind and spec")
    return found


def _once(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"the field {_shown(name)} stands twice in one object")
        found[name] = value
    return found


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no value of JSON")


def _value_at(value: Any, path: str) -> Any:
    """Return what stands at a path such as `.changes[1]`; as far as it goes."""
    for step in _STEP.finditer(path):
        try:
            value = value[step["name"]] if step["name"] is not None else value[int(step["number"])]
        except (LookupError, TypeError):
            break
    return value


def _description(form: type[Any], path: str) -> str:
    """Return what a Struct says of the field at which a path begins."""
    first = _STEP.match(path)
    for one in msgspec.structs.fields(form):
        if first is not None and one.encode_name == first["name"] and get_origin(one.type) is Annotated:
            return next((meta.description or "" for meta in get_args(one.type)[1:] if isinstance(meta, Meta)), "")
    return ""


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
