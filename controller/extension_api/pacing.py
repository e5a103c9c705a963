"""Who asks never holds up who decides: work is done in slices of two milliseconds, one at a time, with pauses between.

All that is worked out for answers goes through one `Turns`. However many ask, they have half of the event loop at most.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Final, TypeVar

from controller.kube import clock

T = TypeVar("T")

SLICE_SECONDS: Final = 0.002
_PAUSE: Final = 1.0
"""How long a pause is, as a part of the slice before it."""


class Turns:
    """One slice at a time, of all answers together. Short pieces of work make up a slice, whoever they are for."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._spent = 0.0

    @asynccontextmanager
    async def one(self) -> AsyncIterator[None]:
        """Wait for our turn; what is done in it is short. At the end of a slice there is a pause."""
        async with self._lock:
            began = clock.monotonic()
            yield
            self._spent += clock.monotonic() - began
            if self._spent >= SLICE_SECONDS:
                # a timer has a resolution of a millisecond: to pause after each piece would be to wait all the time
                pause, self._spent = self._spent * _PAUSE, 0.0
                await asyncio.sleep(pause)

    async def through(self, items: Iterable[T]) -> list[T]:
        """Go through something slice by slice; return all of it. Each item is short."""
        going, found = iter(items), list[T]()
        while True:
            async with self.one():
                until = clock.monotonic() + SLICE_SECONDS - self._spent
                for item in going:
                    found.append(item)
                    if clock.monotonic() >= until:
                        break
                else:
                    return found
