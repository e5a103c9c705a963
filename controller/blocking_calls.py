"""Calls that block, in a thread that may hang: neither the loop nor the end of the program waits for it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TypeVar

T = TypeVar("T")


class BlockingCalls:
    """Makes one call at a time. One that takes longer than `seconds` is given up; until it ends no other is made."""

    def __init__(self, name: str, *, seconds: float) -> None:
        self._name = name
        self._seconds = seconds
        self._is_busy = False

    async def make(self, work: Callable[[], T]) -> T:
        """Return what `work` returns, or raise what it raises. Raises TimeoutError where there is no answer in time."""
        if self._is_busy:
            raise TimeoutError("the call before this one has not ended")
        self._is_busy = True
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[T] = loop.create_future()

        def run() -> None:
            try:
                told = partial(answer.set_result, work())
            except BaseException as error:  # noqa: BLE001 - it is raised where it is waited for
                told = partial(answer.set_exception, error)
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(self._end, answer, told)

        threading.Thread(target=run, name=self._name, daemon=True).start()
        async with asyncio.timeout(self._seconds):
            return await answer

    def _end(self, answer: asyncio.Future[T], told: Callable[[], None]) -> None:
        """Give the answer to who waits for it, if anybody still does."""
        self._is_busy = False
        if not answer.done():
            told()
