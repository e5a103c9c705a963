"""Calls to the database of the history, one at a time: neither the event loop nor a decision waits for them.

What a database says when it fails stays in the log: it may name hosts, which are not for everybody.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, TypeVar

from controller.blocking_calls import BlockingCalls
from controller.extension_api.resources import Absent
from controller.extension_api.statuses import Refused
from controller.history.run_store import HistoryError, RunReader
from controller.telemetry import logs

_log = logs.get("visibility")

T = TypeVar("T")

SECONDS: Final = 20.0
"""How long one call may take."""
MOST: Final = 4
"""Who reads or waits for that, at a time: fewer than the API answers, so that a database that hangs leaves room."""
_WAIT_SECONDS: Final = 10.0
_RETRY_SECONDS: Final = 2
NOT_KEPT: Final = "the controller keeps no history; its option --history enables one"
"""What is said in the place of these resources where there is no history."""


def absent(*plurals: str) -> tuple[Absent, ...]:
    """Return these resources as not there, for want of a history."""
    return tuple(Absent(one, NOT_KEPT) for one in plurals)


class HistoryReads:
    """Asks one reader for whoever wants to know."""

    def __init__(self, reader: RunReader, *, seconds: float = SECONDS) -> None:
        self._reader = reader
        self._calls = BlockingCalls("history-reading", seconds=seconds)
        self._turn = asyncio.Lock()
        self._under_way = 0

    async def make(self, call: Callable[[RunReader], T]) -> T:
        """Return what a call returns.

        Raises Refused: 503 where the database does not answer, or not in time, 429 where too many ask.
        """
        if self._under_way >= MOST:
            raise Refused(429, f"{MOST} others read the history; try again later", retry_seconds=_RETRY_SECONDS)
        self._under_way += 1
        try:
            return await self._made(call)
        except TimeoutError:
            raise self._refused("no answer in time") from None
        except HistoryError as error:
            raise self._refused(str(error)) from None
        finally:
            self._under_way -= 1

    async def _made(self, call: Callable[[RunReader], T]) -> T:
        async with asyncio.timeout(_WAIT_SECONDS):
            await self._turn.acquire()
        try:
            return await self._calls.make(lambda: call(self._reader))
        finally:
            self._turn.release()

    def _refused(self, why: str) -> Refused:
        _log.warning("history_not_read", why=why)
        told = "the history cannot be read: its database does not answer, or not in time"
        return Refused(503, f"{told}; penstock doctor may say why", retry_seconds=_RETRY_SECONDS)
