"""JSON Patches (RFC 6902) of our own making: built by steps, applied here so that the next step sees their effect.

Only what steps produce: add, replace and remove at object members, and add at an array's end (`-`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from controller.core.kubernetes.pointers import escape

Operations = tuple[dict[str, Any], ...]


def applied(document: Mapping[str, Any], operations: Operations) -> dict[str, Any]:
    """Return the document with the operations done; it shares with the old one what they did not touch.

    Neither the old document nor a value of an operation is changed: whoever is on the way to a change is copied.
    """
    result = dict(document)
    for operation in operations:
        result = changed(result, [_unescape(token) for token in operation["path"].split("/")[1:]], operation)
    return result


def changed(node: Any, tokens: Sequence[str], operation: Mapping[str, Any]) -> Any:
    """Return the node with one operation done, whose path is taken apart already."""
    copy: Any = list(node) if isinstance(node, list) else dict(node)
    name, rest = tokens[0], tokens[1:]
    if rest:
        copy[name] = changed(node[name], rest, operation)
    elif operation["op"] == "remove":
        del copy[name]
    elif name == "-":
        copy.append(operation["value"])
    else:
        copy[name] = operation["value"]
    return copy


def added(part: str, present: Mapping[str, str] | None, new: Mapping[str, str]) -> Operations:
    """Build the operations that add to the labels, or annotations, that are `present`; None: there are none."""
    if new and present is None:
        return ({"op": "add", "path": f"/metadata/{part}", "value": dict(new)},)
    return tuple({"op": "add", "path": f"/metadata/{part}/{escape(key)}", "value": new[key]} for key in new)


def _unescape(token: str) -> str:
    return token.replace("~1", "/").replace("~0", "~") if "~" in token else token
