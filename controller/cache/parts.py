"""What takes long is done in parts: others have their turn on the event loop in between."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

PART: Final = 100
"""So many pods or classes are gone through at a time: some thousandths of a second."""


def in_parts(done: Iterable[object]) -> Iterator[None]:
    """Go through what does one thing after the other, and yield after each part of it."""
    for number, _ in enumerate(done, start=1):
        if number % PART == 0:
            yield
