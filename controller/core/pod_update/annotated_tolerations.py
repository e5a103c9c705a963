"""Tolerations in an annotation: a form from before 1.6, which the apiserver still reads and judges.

Mirrors `ValidateTolerationsInPodAnnotations`. The text is read as encoding/json of Go reads it into core.Toleration:
names in any case, unknown ones left out, the later of two wins.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from controller.core.pod_update.toleration_validity import tolerations
from controller.core.pod_update.violation import Violation, invalid, shown

TOLERATIONS: Final = "scheduler.alpha.kubernetes.io/tolerations"

_SECONDS: Final = "tolerationSeconds"
_FIELDS: Final = {name.lower(): name for name in ("key", "operator", "value", "effect", _SECONDS)}


def annotated_tolerations(path: str, text: str, *, compares: bool) -> Iterator[Violation]:
    """Return the faults of the annotation's `text`, which is not empty; `path` is that of the annotations."""
    try:
        held = [_toleration(pairs) for pairs in _list(text)]
    except (ValueError, RecursionError):
        yield invalid(path, f"{TOLERATIONS} is {shown(text)}; must be a JSON list of tolerations")
        return
    yield from tolerations(f"{path}.{TOLERATIONS}", held, compares=compares)


class _Pairs(list[tuple[str, Any]]):
    """A JSON object as it is written, so that it cannot be taken for a list."""


def _list(text: str) -> list[_Pairs]:
    def refuse(constant: str) -> Any:
        raise ValueError(constant)

    read = json.loads(text, object_pairs_hook=_Pairs, parse_constant=refuse)
    if read is not None and (not isinstance(read, list) or isinstance(read, _Pairs)):
        raise ValueError(text)
    entries = [_Pairs() if entry is None else entry for entry in read or ()]
    if not all(isinstance(entry, _Pairs) for entry in entries):
        raise ValueError(text)
    return entries


def _toleration(pairs: _Pairs) -> dict[str, Any]:
    toleration: dict[str, Any] = {}
    for written, value in pairs:
        name = _FIELDS.get(written.lower())
        if name is None:
            continue
        if value is None:
            # null leaves text as it is, and takes a number away
            toleration.update({_SECONDS: None} if name == _SECONDS else {})
        elif name == _SECONDS:
            if type(value) is not int or not -(2**63) <= value < 2**63:
                raise ValueError(written)
            toleration[name] = value
        elif not isinstance(value, str):
            raise ValueError(written)
        else:
            toleration[name] = value
    return toleration
