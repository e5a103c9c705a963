"""Lists in a sentence: the first few of many."""

from __future__ import annotations

from collections.abc import Sequence


def first_few(names: Sequence[str], most: int = 5) -> str:
    """Write the first of them, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"
