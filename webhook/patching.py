"""JSON Patches (RFC 6902) of our own making: built by steps, applied here so that the next step sees their effect.

Only what steps produce: add, replace and remove at object members, and add at an array's end (`-`).
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

Operations = tuple[dict[str, Any], ...]


def applied(document: Mapping[str, Any], operations: Operations) -> dict[str, Any]:
    """Return a copy of `document` with the operations done."""
    result: dict[str, Any] = copy.deepcopy(dict(document))
    for operation in operations:
        *parents, last = [_unescape(token) for token in operation["path"].split("/")[1:]]
        target: Any = result
        for token in parents:
            target = target[token]
        if operation["op"] == "remove":
            del target[last]
        elif last == "-":
            target.append(copy.deepcopy(operation["value"]))
        else:
            # a copy: a later operation may reach into it, and must not change this one
            target[last] = copy.deepcopy(operation["value"])
    return result


def _unescape(token: str) -> str:
    return token.replace("~1", "/").replace("~0", "~")
