"""Objects by key, of which None says that there is none."""

from __future__ import annotations

from typing import TypeVar

_K = TypeVar("_K")
_V = TypeVar("_V")


def put_or_drop(known: dict[_K, _V], key: _K, value: _V | None) -> None:
    """Take in the value of a key, or forget the key."""
    if value is None:
        known.pop(key, None)
    else:
        known[key] = value
