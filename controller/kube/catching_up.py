"""How an informer is brought up to a moment: by what its watch brings, or by a list that is asked for meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Final

from msgspec import DecodeError
from msgspec.json import Decoder

from controller.kube import clock, wire
from controller.kube.client import Client
from controller.kube.errors import KubeError

_ONE: Final = {"limit": "1"}
_page = Decoder(wire.Page)


async def version_now(client: Client, path: str, params: Mapping[str, str]) -> str:
    """Return the version of a collection. Raises KubeError.

    The request names no version: the answer has that of now, as most of etcd's members know it, and no cache of an
    apiserver an older one.
    """
    answer = await client.get(path, {**params, **_ONE})
    try:
        return _page.decode(answer).metadata.version
    except DecodeError as error:
        raise KubeError(f"{path}: the answer is no list: {error}") from error


def went_back(new: str, newest: str) -> bool:
    """Whether a version of a collection is older than one seen before (KEP-5504: they can be compared)."""
    return new.isdecimal() and newest.isdecimal() and int(new) < int(newest)


class Newness:
    """Up to which version everything was handed on, and who waits for more."""

    def __init__(self) -> None:
        self.version = ""
        self._moved = asyncio.Event()
        self._began = self._list_seconds = 0.0
        self._asked: list[asyncio.Event] = []
        self._promised: list[asyncio.Event] = []
        """Those who asked before the list that is under way began."""
        self._scope: asyncio.Timeout | None = None

    def reached(self, version: str) -> None:
        """Note that all up to this version was handed on."""
        self.version = version
        self._moved.set()

    def listed(self, version: str) -> None:
        """Note that a list of this version was handed on."""
        self._list_seconds = clock.monotonic() - self._began
        self.reached(version)
        while self._promised:
            self._promised.pop().set()

    async def has(self, version: str) -> bool:
        """Wait for this version as long as the latest list took; say whether it came."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._list_seconds):
                while not (version.isdecimal() and self.version.isdecimal() and int(self.version) >= int(version)):
                    self._moved.clear()
                    await self._moved.wait()
                return True
        return False

    async def next_list(self) -> None:
        """Have what is under way end, and return once a list is handed on that began after this was called."""
        is_listed = asyncio.Event()
        self._asked.append(is_listed)
        if self._scope is not None and not self._scope.expired():
            self._scope.reschedule(asyncio.get_running_loop().time())
        await is_listed.wait()

    def wants_list(self) -> bool:
        """Whether somebody has asked for one; who calls this begins it, or what goes before it."""
        self._began = clock.monotonic()
        self._promised, asked = [*self._promised, *self._asked], bool(self._asked)
        self._asked.clear()
        return asked

    async def until_asked(self, work: Callable[[], Awaitable[None]]) -> bool:
        """Do this until it ends, or somebody asks for a list: say whether that ended it."""
        scope = asyncio.timeout(None)
        try:
            async with scope as self._scope:
                await work()
        except TimeoutError:
            if not scope.expired():
                raise
        finally:
            self._scope = None
        return scope.expired()
