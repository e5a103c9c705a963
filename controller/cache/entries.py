"""What is known by name or uid: an object that comes, changes or goes."""

from __future__ import annotations

from typing import TypeVar

_K = TypeVar("_K")
_V = TypeVar("_V")


def put(known: dict[_K, _V], key: _K, value: _V | None) -> None:
    """Take in an object, or forget it (None)."""
    if value is None:
        known.pop(key, None)
    else:
        known[key] = value
