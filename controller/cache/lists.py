"""Whether a whole list of something is taken in just now: half of one is no state of the cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Lists:
    """Several may be under way. `on_change` is called when one is there."""

    def __init__(self, on_change: Callable[[], None]) -> None:
        self._on_change = on_change
        self._under_way = 0

    @property
    def are_whole(self) -> bool:
        """Whether none is under way."""
        return not self._under_way

    @contextmanager
    def taking_one(self) -> Iterator[None]:
        """Take one in, by and by."""
        self._under_way += 1
        try:
            yield
        finally:
            self._under_way -= 1
            self._on_change()
