"""Answers as bytes: an object, a list or a table, put together from parts so that no step has to encode all of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import json

from controller.extension_api.options import Form, IncludeObject
from controller.extension_api.resources import API_VERSION, Entry, Resource
from controller.extension_api.tables import cells, column_definitions

_encode = json.Encoder().encode


def metadata(entry: Entry) -> dict[str, str]:
    """Return an object's metadata: what is worked out has no uid and no version."""
    return {"name": entry.name, "namespace": entry.namespace} if entry.namespace else {"name": entry.name}


def an_object(resource: Resource, entry: Entry) -> dict[str, Any]:
    """Return an entry as an object of its kind."""
    return {"kind": resource.kind, "apiVersion": API_VERSION, "metadata": metadata(entry), "status": entry.row}


class Writer:
    """Writes entries of one resource in the form that its client accepts."""

    def __init__(self, resource: Resource, form: Form, include: IncludeObject) -> None:
        self._resource = resource
        self._form = form
        self._include = include

    def single(self, entry: Entry) -> bytes:
        """Return one object, or a table of it."""
        if self._form is Form.TABLE:
            return b"".join(self.whole([self.part([entry])], token="", remaining=0))
        return _encode(an_object(self._resource, entry))

    def part(self, entries: Sequence[Entry]) -> bytes:
        """Return some members of a list, or rows of a table, without what surrounds them."""
        write = self._row if self._form is Form.TABLE else self._object
        return _encode([write(entry) for entry in entries])[1:-1]

    def whole(self, parts: Iterable[bytes], *, token: str, remaining: int) -> list[bytes]:
        """Return a list or a table of these parts, in pieces to be sent one after the other."""
        filled = [part for part in parts if part]
        between = [piece for part in filled for piece in (b",", part)][1:]
        known = {"resourceVersion": ""}
        if token:
            known |= {"continue": token}
        count = {"remainingItemCount": remaining} if token and remaining else {}
        return [*self._head(), *between, b'],"metadata":', _encode({**known, **count}), b"}"]

    def _head(self) -> list[bytes]:
        if self._form is Form.TABLE:
            columns = _encode(column_definitions(self._resource))
            return [b'{"kind":"Table","apiVersion":"meta.k8s.io/v1","columnDefinitions":', columns, b',"rows":[']
        return [_encode({"kind": self._resource.list_kind, "apiVersion": API_VERSION})[:-1], b',"items":[']

    def _object(self, entry: Entry) -> dict[str, Any]:
        return an_object(self._resource, entry)

    def _row(self, entry: Entry) -> dict[str, Any]:
        row: dict[str, Any] = {"cells": cells(self._resource, entry)}
        if self._include is IncludeObject.METADATA:
            known = metadata(entry)
            row["object"] = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": known}
        elif self._include is IncludeObject.OBJECT:
            row["object"] = an_object(self._resource, entry)
        return row
