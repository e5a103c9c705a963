"""What one receiver is still to be told, in order and bounded, and when it is tried again.

A notice is given up when the receiver refuses it, or after an hour of failures. Each is tried once at least, however
old it is, unless a newer one needs its place.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import aiohttp

from controller.kube import clock
from controller.kube.backoff import Backoff
from controller.notifications.formats import AT_ONCE, body
from controller.notifications.notices import TYPES, Kind, Notice
from controller.notifications.posting import Answer, Delivered, Later, post
from controller.notifications.settings import Receiver
from controller.telemetry import logs

_log = logs.get("notifications")

MOST: Final = 5_000
GIVE_UP_SECONDS: Final = 3600.0
BACKOFF: Final = Backoff(first=1.0, longest=60.0)


class Result(StrEnum):
    """What became of a notice."""

    SENT = "sent"
    FAILED = "failed"
    """The receiver refused it, or took none for an hour."""
    DROPPED = "dropped"
    """There was no room for it."""
    WITHDRAWN = "withdrawn"
    """Its receiver was removed."""


@dataclass(frozen=True, slots=True)
class _Kept:
    notice: Notice
    since: float
    """Monotonic time."""


class Outbox:
    """The queue of one receiver. `count` is told what became of notices."""

    def __init__(self, receiver: Receiver, cluster: str | None, count: Callable[[str, Kind, Result], None]) -> None:
        self.receiver = receiver
        """As the file has it now; another one may be put here at any time."""
        self.cluster = cluster
        self._count = count
        self._queue: deque[_Kept] = deque()
        self._current: list[_Kept] = []
        self._has_some = asyncio.Event()
        self._is_empty = asyncio.Event()
        self._is_empty.set()

    def __len__(self) -> int:
        return len(self._queue) + len(self._current)

    def put(self, notice: Notice) -> None:
        """Tell this as soon as all before it is told. Where there is no room, the oldest goes."""
        while len(self) >= MOST and self._queue:
            self._end([self._queue.popleft()], Result.DROPPED)
        self._queue.append(_Kept(notice, clock.monotonic()))
        self._has_some.set()
        self._is_empty.clear()

    async def emptied(self) -> None:
        """Wait until all is told or given up."""
        await self._is_empty.wait()

    def drop(self) -> None:
        """Give all of it up: the receiver is no more."""
        self._end([*self._current, *self._queue], Result.WITHDRAWN)
        self._queue.clear()
        self._current = []

    async def run(self, http: aiohttp.ClientSession) -> None:
        """Tell until cancelled."""
        while True:
            await self._has_some.wait()
            await self._tell_next(http)
            if not self._queue:
                self._has_some.clear()
                self._is_empty.set()

    async def _tell_next(self, http: aiohttp.ClientSession) -> None:
        """Tell the oldest, or the oldest few that the format takes at once; or give them up."""
        count = min(AT_ONCE[self.receiver.format], len(self._queue))
        self._current = [self._queue.popleft() for _ in range(count)]
        failures = 0
        while (answer := await self._post(http)) is not None:
            failures += 1
            why, pause = answer.why, max(BACKOFF.delay(failures), answer.seconds)
            _log.warning("notification_retried", receiver=self.receiver.name, why=why, failures=failures, seconds=pause)
            await asyncio.sleep(pause)
        self._current = []

    async def _post(self, http: aiohttp.ClientSession) -> Later | None:
        """Send once; return why, and when, to try again."""
        # a receiver that takes fewer at once now than when these were taken out gets them one by one
        for part in self._parts():
            notices = [one.notice for one in part]
            answer = await post(http, self.receiver, body(self.receiver.format, notices, self.cluster))
            if isinstance(answer, Later) and not self._is_old(part[0]):
                return answer
            self._current = self._current[len(part) :]
            self._ended(part, answer)
        return None

    def _parts(self) -> list[list[_Kept]]:
        size = AT_ONCE[self.receiver.format]
        return [self._current[begin : begin + size] for begin in range(0, len(self._current), size)]

    def _ended(self, part: list[_Kept], answer: Answer) -> None:
        if isinstance(answer, Delivered):
            self._end(part, Result.SENT)
            return
        self._end(part, Result.FAILED)
        for one in part:
            what = {"type": TYPES[one.notice.kind], "id": one.notice.id}
            _log.error("notification_given_up", receiver=self.receiver.name, why=answer.why, **what)

    def _is_old(self, one: _Kept) -> bool:
        return clock.monotonic() - one.since >= GIVE_UP_SECONDS

    def _end(self, those: list[_Kept], result: Result) -> None:
        for one in those:
            self._count(self.receiver.name, one.notice.kind, result)
