"""What many ask for, worked out once for all of them, and again when it is older than a second."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Final, Generic, TypeVar

from controller.kube import clock

T = TypeVar("T")

SECONDS: Final = 1.0
_MOST: Final = 64


class Shared(Generic[T]):
    """Results by key, those asked for last; `work` makes one."""

    def __init__(self, work: Callable[[str], Awaitable[T]], *, seconds: float = SECONDS) -> None:
        self._work = work
        self._seconds = seconds
        self._known: OrderedDict[str, tuple[float, T]] = OrderedDict()
        self._working = asyncio.Lock()

    def forget(self) -> None:
        """Let nothing that was worked out before be young enough."""
        self._known.clear()

    async def get(self, key: str = "") -> T:
        """Return a result that is young enough. Who comes while it is worked out waits for it."""
        async with self._working:
            known = self._known.get(key)
            if known is not None and clock.monotonic() - known[0] < self._seconds:
                return known[1]
            made = await self._work(key)
            self._known.pop(key, None)
            self._known[key] = clock.monotonic(), made
            while len(self._known) > _MOST:
                self._known.popitem(last=False)
            return made
