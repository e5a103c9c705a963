"""RFC 6902 as the apiserver applies it, written apart from our own code so that tests do not check it with itself.

One thing is the apiserver's own (seen on 1.36): a `test` for null passes where the member is absent, not where its
parent is.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

_ABSENT = object()


class PatchFailed(Exception):
    """An operation that the apiserver would answer with 422."""


def patched(document: dict[str, Any], operations: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Return a copy of the document with all operations done, or raise PatchFailed."""
    result = copy.deepcopy(document)
    for operation in operations:
        _apply(result, operation)
    return result


def _apply(document: dict[str, Any], operation: dict[str, Any]) -> None:
    tokens = [part.replace("~1", "/").replace("~0", "~") for part in operation["path"].split("/")]
    if tokens[0] != "" or len(tokens) < 2:
        raise PatchFailed(f"unusable path: {operation}")
    parent: Any = document
    for token in tokens[1:-1]:
        parent = _member(parent, token)
        if parent is _ABSENT or parent is None:
            raise PatchFailed(f"missing parent: {operation}")
    match operation["op"]:
        case "test":
            found = _member(parent, tokens[-1])
            if (None if found is _ABSENT else found) != operation["value"]:
                raise PatchFailed(f"test failed: {operation}")
        case "add":
            _add(parent, tokens[-1], copy.deepcopy(operation["value"]))
        case "remove":
            if _member(parent, tokens[-1]) is _ABSENT:
                raise PatchFailed(f"nothing to remove: {operation}")
            del parent[int(tokens[-1]) if isinstance(parent, list) else tokens[-1]]
        case other:
            raise PatchFailed(f"unknown operation {other}")


def _member(parent: Any, token: str) -> Any:
    if isinstance(parent, list):
        return parent[int(token)] if token.isdecimal() and int(token) < len(parent) else _ABSENT
    if isinstance(parent, dict):
        return parent.get(token, _ABSENT)
    raise PatchFailed(f"{token} under {parent!r}")


def _add(parent: Any, token: str, value: Any) -> None:
    if isinstance(parent, dict):
        parent[token] = value
    elif token == "-":
        parent.append(value)
    elif token.isdecimal() and int(token) <= len(parent):
        parent.insert(int(token), value)
    else:
        raise PatchFailed(f"index {token} of {parent!r}")
