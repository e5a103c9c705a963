"""Whether an object has only fields that Kubernetes knows, each of its type: by the models of kubernetes-asyncio.

For objects that people write and no apiserver has seen yet, where a misspelt field would pass for an absent one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

_LIST = re.compile(r"list\[(.+)\]")
_MAP = re.compile(r"dict\(str, (.+)\)")
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_VALUE_ROOM = 60

_MAPS = frozenset({"annotations", "labels", "limits", "matchLabels", "nodeSelector", "overhead", "requests"})

_NUMBERS_TOO = frozenset({"requests", "limits", "overhead", "capacity", "hard", "divisor", "sizeLimit"})
"""Fields of quantities: text for the models, but a number is as good."""

PLAIN_TYPES: dict[str, tuple[tuple[type, ...], str]] = {
    "str": ((str,), "must be text; put it in quotes"),
    "datetime": ((str,), "must be text; put it in quotes"),
    "int": ((int,), "must be a whole number"),
    "float": ((int, float), "must be a number"),
    "bool": ((bool,), "must be true or false"),
}


def faults(document: object, kind: str, path: str = "") -> list[str]:
    """Return a line for each fault of an object of `kind`, such as V1Pod: path, value, what would be legal."""
    return list(_faults(document, kind, path, ""))


def member(path: str, name: str) -> str:
    """Return the path of a member of an object, as Kubernetes writes it: keys of maps, and odd names, in brackets."""
    if path.rpartition(".")[2] in _MAPS or not _PLAIN_NAME.fullmatch(name):
        return f"{path}[{name}]"
    return f"{path}.{name}" if path else name


def _faults(value: Any, kind: str, path: str, name: str) -> Iterator[str]:
    if value is None or kind == "object":
        return
    if items := _LIST.fullmatch(kind):
        if not isinstance(value, list):
            yield _fault(path, value, "must be a list")
            return
        for index, item in enumerate(value):
            yield from _faults(item, items[1], f"{path}[{index}]", name)
    elif kind in PLAIN_TYPES:
        yield from _plain(value, kind, path, name)
    elif not isinstance(value, Mapping):
        yield _fault(path, value, "must be an object")
    elif entries := _MAP.fullmatch(kind):
        for key, item in value.items():
            if not isinstance(key, str):
                yield _fault(f"{path}[{key}]", key, "the key must be text; put it in quotes")
            yield from _faults(item, entries[1], f"{path}[{key}]", name)
    else:
        yield from _members(value, kind, path)


def _members(value: Mapping[str, Any], kind: str, path: str) -> Iterator[str]:
    known = fields_of(kind)
    for name, item in value.items():
        if name in known:
            yield from _faults(item, known[name], member(path, name), name)
        else:
            near = next((one for one in known if one.lower() == str(name).lower()), None)
            advice = f"did you mean {near}?" if near else "remove it or correct its spelling"
            yield f"{member(path, str(name))}: is not a field that Kubernetes knows; {advice}"


def _plain(value: Any, kind: str, path: str, name: str) -> Iterator[str]:
    types, message = PLAIN_TYPES[kind]
    if kind == "str" and name in _NUMBERS_TOO:
        types = (str, int, float)
    if not isinstance(value, types) or (isinstance(value, bool) and kind != "bool"):
        yield _fault(path, value, message)


def _fault(path: str, value: object, message: str) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return f"{path}: {text if len(text) <= _VALUE_ROOM else f'{text[:_VALUE_ROOM]}…'}: {message}"


@cache
def fields_of(kind: str) -> dict[str, str]:
    """Fields of a model and their types."""
    # here, since it takes 35 MiB and a third of a second
    from kubernetes_asyncio import client as models

    model = getattr(models, kind)
    return {model.attribute_map[name]: of_type for name, of_type in model.openapi_types.items()}
