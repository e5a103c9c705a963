"""From the JSON of the apiserver to a model, or to a list of faults that a person can act on.

The one way in: whoever holds an object as bytes or as a dict gets a checked model from here, or InvalidObject.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any, TypeVar

from pydantic import ValidationError
from pydantic_core import ErrorDetails, from_json

from controller.api.base import Resource
from controller.api.cluster_queue import ClusterQueue
from controller.api.crd import root_schema
from controller.api.flavor import ResourceFlavor
from controller.api.local_queue import LocalQueue
from controller.api.pod_policy import ClusterPodSchedulingPolicy, PodSchedulingPolicy
from controller.api.scheduling_policy import SchedulingPolicy
from controller.api.schema import Schema
from controller.api.workload_kind import WorkloadKind
from controller.api.workload_priority_class import WorkloadPriorityClass

Object = bytes | Mapping[str, Any]
_R = TypeVar("_R", bound=Resource)

_VALUE_LIMIT = 80
_UNNAMED = "(no name)"


class InvalidObject(Exception):
    """An object breaks the rules of its kind. The text is one line a fault: object, path, value, what is wrong."""

    def __init__(self, subject: str, faults: tuple[str, ...]) -> None:
        super().__init__("\n".join(f"{subject}: {fault}" for fault in faults))
        self.subject = subject
        self.faults = faults


def parse_resource_flavor(obj: Object) -> ResourceFlavor:
    """Return the ResourceFlavor. Raises InvalidObject."""
    return _parse(ResourceFlavor, obj)


def parse_cluster_queue(obj: Object) -> ClusterQueue:
    """Return the ClusterQueue. Raises InvalidObject."""
    return _parse(ClusterQueue, obj)


def parse_local_queue(obj: Object) -> LocalQueue:
    """Return the LocalQueue. Raises InvalidObject."""
    return _parse(LocalQueue, obj)


def parse_pod_scheduling_policy(obj: Object) -> PodSchedulingPolicy:
    """Return the PodSchedulingPolicy. Raises InvalidObject."""
    return _parse(PodSchedulingPolicy, obj)


def parse_cluster_pod_scheduling_policy(obj: Object) -> ClusterPodSchedulingPolicy:
    """Return the ClusterPodSchedulingPolicy. Raises InvalidObject."""
    return _parse(ClusterPodSchedulingPolicy, obj)


def parse_scheduling_policy(obj: Object) -> SchedulingPolicy:
    """Return the SchedulingPolicy. Raises InvalidObject."""
    return _parse(SchedulingPolicy, obj)


def parse_workload_kind(obj: Object) -> WorkloadKind:
    """Return the WorkloadKind. Raises InvalidObject."""
    return _parse(WorkloadKind, obj)


def parse_workload_priority_class(obj: Object) -> WorkloadPriorityClass:
    """Return the WorkloadPriorityClass. Raises InvalidObject."""
    return _parse(WorkloadPriorityClass, obj)


def _parse(model: type[_R], obj: Object) -> _R:
    decoded = _decode(model, obj) if isinstance(obj, bytes) else obj
    try:
        return model.model_validate(decoded, by_alias=True, by_name=False)
    except ValidationError as error:
        faults = tuple(_line(model, details) for details in causes(error.errors(include_url=False)))
        raise InvalidObject(_subject(model, decoded), faults) from None


def causes(errors: list[ErrorDetails]) -> list[ErrorDetails]:
    """Return what has to be mended: that a list is too short is left out where its entries have faults of their own."""
    places = [details["loc"] for details in errors]

    def has_faults_within(where: tuple[str | int, ...]) -> bool:
        return any(len(place) > len(where) and place[: len(where)] == where for place in places)

    return [e for e in errors if e["type"] != "too_short" or not has_faults_within(e["loc"])]


def _decode(model: type[Resource], text: bytes) -> Any:
    try:
        return from_json(text)
    except ValueError as error:
        raise InvalidObject(_subject(model, None), (f"not JSON: {error}",)) from None


def _subject(model: type[Resource], obj: object) -> str:
    metadata = obj.get("metadata") if isinstance(obj, Mapping) else None
    named = metadata if isinstance(metadata, Mapping) else {}
    parts = [model.definition.resource, named.get("namespace"), named.get("name") or _UNNAMED]
    return "/".join(str(part) for part in parts if part)


def _line(model: type[Resource], details: ErrorDetails) -> str:
    return fault_line(_path(_schema(model), details["loc"]), details)


def fault_line(path: str, details: ErrorDetails) -> str:
    """Return what is wrong with the value at `path`, for people: path, value, what would be legal."""
    message = _message(details)
    if details["type"] == "missing":
        return f"{path}: {message}"
    value = json.dumps(details["input"], ensure_ascii=False, default=str)
    shown = value if len(value) <= _VALUE_LIMIT else f"{value[:_VALUE_LIMIT]}…"
    return f"{path}: {shown}: {message}" if path else f"{shown}: {message}"


@cache
def _schema(model: type[Resource]) -> Schema:
    return root_schema(model)


def _path(schema: Schema, where: tuple[str | int, ...]) -> str:
    """Write a location as Kubernetes does: fields after dots, indexes and the keys of maps in brackets."""
    path = ""
    for step in where:
        if step == "[key]":
            continue
        fields, entries = schema.get("properties", {}), schema.get("additionalProperties")
        if isinstance(step, int) or (entries and step not in fields):
            path += f"[{step}]"
            schema = schema.get("items", {}) if isinstance(step, int) else entries or {}
        else:
            path += f".{step}" if path else step
            schema = fields.get(step, {})
    return path


_WORDS = {
    "missing": "is required",
    "extra_forbidden": "is not a field that Penstock knows; remove it or correct its spelling",
    "literal_error": "must be {expected}",
    "string_type": "must be text",
    "int_type": "must be a whole number",
    "float_type": "must be a number",
    "bool_type": "must be true or false",
    "string_too_long": "must be at most {max_length} characters",
    "string_too_short": "must not be empty",
    "too_long": "must have at most {max_length} entries",
    "too_short": "must not be empty",
    "tuple_type": "must be a list",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
}


def _message(details: ErrorDetails) -> str:
    words = _WORDS.get(details["type"])
    return details["msg"] if words is None else words.format(**details.get("ctx", {}))
