"""Tables (meta.k8s.io/v1 Table), what `kubectl get` asks for: the columns of a resource and a row for each object."""

from __future__ import annotations

from typing import Any

from controller.extension_api.resources import Column, Entry, Resource
from controller.kube import clock


def column_definitions(resource: Resource) -> list[dict[str, Any]]:
    """Return the columns: the name always comes first."""
    name = {"name": "Name", "type": "string", "format": "name", "description": "Name of the object.", "priority": 0}
    return [name, *map(_definition, resource.columns)]


def cells(resource: Resource, entry: Entry) -> list[str | int | None]:
    """Return the cells of one row."""
    return [entry.name, *(one.cell(entry.row) for one in resource.columns)]


def age(since: str, now: float) -> str:
    """Write how long ago a time (RFC 3339) was at `now`, epoch seconds, as kubectl does."""
    seconds = max(0, int(now - clock.epoch(since)))
    for unit, size in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if seconds >= 2 * size:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"


def _definition(one: Column[Any]) -> dict[str, Any]:
    return {
        "name": one.name,
        "type": one.type,
        "format": "",
        "description": one.description,
        "priority": int(one.is_wide),
    }
