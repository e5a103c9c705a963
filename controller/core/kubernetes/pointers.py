"""JSON pointers (RFC 6901), as JSON Patches name the places that they change."""

from __future__ import annotations

from collections.abc import Iterable


def pointer(keys: Iterable[str]) -> str:
    """Write the pointer that follows these keys."""
    return "".join(f"/{escape(key)}" for key in keys)


def escape(key: str) -> str:
    """Write a key as one token of a pointer."""
    return key.replace("~", "~0").replace("/", "~1")
