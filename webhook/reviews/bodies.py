"""Bodies of reviews: what is held of them at a time, over all connections, and one large one looked at after the other.

Anybody who reaches the port can send them. Small ones take nothing of the budget, so that a flood of large ones does
not keep ordinary pods waiting: those are bounded by the number of connections.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final, TypeVar

from aiohttp import web

_T = TypeVar("_T")

LIMIT: Final = 7 * 2**20
"""Of one body. The apiserver takes objects of up to 3 MiB, and shows two of an update."""

BUDGET: Final = 64 * 2**20
"""Of all large bodies together."""

LARGE: Final = 128 * 2**10
"""From here on a body is of the budget, and not parsed on the event loop."""

_WAIT_SECONDS: Final = 0.5
"""For room in the budget, then for one's turn: the apiserver waits two seconds for all."""

_HEAD_BYTES: Final = 1_024

Body = bytes | bytearray


class Busy(Exception):
    """There is no room for a large body now."""

    def __init__(self) -> None:
        super().__init__("too many large reviews at once; try again")


class TooLarge(Exception):
    """A review is over the limit; `head` is how it begins."""

    def __init__(self, head: bytes) -> None:
        super().__init__(f"is larger than {LIMIT // 2**20} MiB")
        self.head = head


class Bodies:
    """What is held of all bodies."""

    def __init__(self, budget: int) -> None:
        self._free = budget
        self._freed = asyncio.Event()
        self._turn = asyncio.Semaphore(1)
        self._not_before = 0.0

    @asynccontextmanager
    async def held(self, request: web.Request) -> AsyncIterator[Body]:
        """Read the body and hold it while the block runs. Raises Busy or TooLarge."""
        if request.content_length is not None and request.content_length <= LARGE:
            yield await request.read()
            return
        body, claimed = bytearray(), 0
        try:
            while chunk := await request.content.readany():
                if len(body) + len(chunk) > LIMIT or (request.content_length or 0) > LIMIT:
                    head = bytes((body + chunk)[:_HEAD_BYTES])
                    body.clear()
                    raise TooLarge(head)
                await self._claim(len(chunk))
                claimed += len(chunk)
                body += chunk
            yield body
        finally:
            self._free += claimed
            self._freed.set()

    @asynccontextmanager
    async def parsed(self, parse: Callable[[Body], _T], body: Body) -> AsyncIterator[_T]:
        """Parse a body; what comes of a large one is there while the block runs, and only of one at a time.

        A thread for it leaves the event loop its turns, but holds the interpreter for as long as JSON is parsed: so the
        next one begins no sooner than after a pause of the same length. Raises Busy, and whatever `parse` does.
        """
        if len(body) <= LARGE:
            yield parse(body)
            return
        try:
            async with asyncio.timeout(_WAIT_SECONDS):
                await self._turn.acquire()
        except TimeoutError:
            raise Busy from None
        try:
            clock = asyncio.get_running_loop().time
            await asyncio.sleep(self._not_before - clock())
            began = clock()
            try:
                result = await asyncio.to_thread(parse, body)
            finally:
                self._not_before = 2 * clock() - began
            yield result
        finally:
            self._turn.release()

    async def _claim(self, size: int) -> None:
        if self._free < size:
            try:
                async with asyncio.timeout(_WAIT_SECONDS):
                    while self._free < size:
                        self._freed.clear()
                        await self._freed.wait()
            except TimeoutError:
                raise Busy from None
        self._free -= size
