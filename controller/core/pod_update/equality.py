"""Whether two JSON values are the same to Kubernetes: `apiequality.Semantic.DeepEqual` on what the apiserver writes.

A field that is null is one that is absent, and so is an empty list or map. An empty object is not, where Go has a
pointer: `affinity: {}` is something. Quantities are compared by what they are worth.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from controller.core.kubernetes.amounts import QuantityError, parse_quantity

Json = Mapping[str, Any]

# Names of fields in a pod's spec by what Go has there; tests/differential holds them to the real types.
TEXT_MAPS: Final = frozenset(
    ("annotations", "labels", "matchLabels", "nodeSelector", "options", "userAnnotations", "volumeAttributes")
)
QUANTITY_MAPS: Final = frozenset(("limits", "overhead", "requests"))
QUANTITIES: Final = frozenset(("divisor", "sizeLimit"))
STRUCTS: Final = frozenset(("metadata", "podAffinityTerm", "preference", "spec"))
_EMPTY_IS_ABSENT: Final = TEXT_MAPS | QUANTITY_MAPS


def same(one: Any, other: Any) -> bool:
    """Say whether two values of the same field are equal."""
    if one == other:
        return True
    if isinstance(one, dict) and isinstance(other, dict):
        return not differing(one, other)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return False


def differing(one: Json, other: Json, leave_out: Iterable[str] = ()) -> list[str]:
    """Return the names of the fields that differ, sorted."""
    names = (one.keys() | other.keys()).difference(leave_out)
    return sorted(name for name in names if not same_field(name, one.get(name), other.get(name)))


def same_field(name: str, one: Any, other: Any) -> bool:
    """Say whether two values of the field of this name are equal; None where it is absent."""
    if name in STRUCTS:
        return same(one or {}, other or {})
    if _is_absent(name, one) or _is_absent(name, other):
        return _is_absent(name, one) and _is_absent(name, other)
    if name in QUANTITIES:
        return bool(_worth(one) == _worth(other))
    if name in QUANTITY_MAPS:
        return bool(one.keys() == other.keys()) and all(_worth(one[key]) == _worth(other[key]) for key in one)
    return bool(one == other) if name in TEXT_MAPS else same(one, other)


def _is_absent(name: str, value: Any) -> bool:
    return value is None or value == [] or (value == {} and name in _EMPTY_IS_ABSENT)


def _worth(value: Any) -> Any:
    try:
        return parse_quantity(value)
    except QuantityError:
        return value
