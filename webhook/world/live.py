"""Asking the apiserver during a review, for what the informers may not have seen yet: a rare case, of bounded time.

Anybody who reaches the webhook can name what there is not, so questions are bounded too: one at a time of one object,
none for a while after there was no such object, and so many a second of all.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, TypeVar

from msgspec import Raw

from controller.kube.client import Client
from controller.kube.errors import KubeError, NotFound
from controller.telemetry import logs

_T = TypeVar("_T")

_ASK_SECONDS = 0.8
"""Two questions fit into the 2 s that the apiserver waits for us."""

ABSENT_SECONDS: Final = 2.0
"""For which an object that was not there is not asked for again; the informers tell sooner when it comes."""

QUESTIONS_A_SECOND: Final = 20

_log = logs.get("live")


class NotKnown(Exception):
    """An object may not be asked for now, so nobody can say whether it is there; the text is for who needs it."""


class Live:
    """The apiserver, asked for single objects."""

    def __init__(self) -> None:
        self._absent: dict[str, float] = {}
        """When each path was last found to be no object's."""
        self._asking: dict[str, asyncio.Future[bytes | None]] = {}
        self._asked: list[float] = []
        """When the questions of the last second were sent."""

    async def ask(
        self, client: Client, path: str, decode: Callable[[bytes | Raw], _T], *, is_rare: bool = False
    ) -> _T | None:
        """Read one object from the apiserver; None when there is none, or no answer in time. Raises NotKnown.

        `is_rare`: the apiserver itself lets nobody name what there is not, so absence is remembered for a while.
        """
        asking = self._asking.get(path)
        body = await (self._first(client, path) if asking is None else asyncio.shield(asking))
        if body is None and not is_rare:
            self._absent.pop(path, None)
        return None if body is None else decode(body)

    async def _first(self, client: Client, path: str) -> bytes | None:
        """Ask, for all who need the same meanwhile."""
        self._permit(path)
        answer = self._asking[path] = asyncio.get_running_loop().create_future()
        body: bytes | None = None
        try:
            body = await self._get(client, path)
            return body
        finally:
            answer.set_result(body)
            del self._asking[path]

    async def _get(self, client: Client, path: str) -> bytes | None:
        try:
            return await client.get(path, seconds=_ASK_SECONDS)
        except NotFound:
            self._absent[path] = asyncio.get_running_loop().time()
            return None
        except KubeError as error:
            _log.warning("not_read", path=path, error=str(error))
            return None

    def _permit(self, path: str) -> None:
        now = asyncio.get_running_loop().time()
        self._absent = {known: since for known, since in self._absent.items() if since > now - ABSENT_SECONDS}
        if path in self._absent:
            raise NotKnown(f"{path} was not there a moment ago; try again when it is")
        self._asked = [sent for sent in self._asked if sent > now - 1]
        if len(self._asked) >= QUESTIONS_A_SECOND:
            raise NotKnown(
                f"{path} is not known to Penstock yet, and too many unknown objects are being looked up; try again"
            )
        self._asked.append(now)
