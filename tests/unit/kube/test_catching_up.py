"""An informer that is told to catch up: by its watch where that is quick enough, else by a list."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any, cast

import pytest

from controller.kube import catching_up
from controller.kube.client import Client
from controller.kube.decode import decode_metadata
from controller.kube.errors import Invalid, Unreachable
from controller.kube.watch import Informer, Trouble
from controller.kube.wire import Owned
from tests.support.eventually import eventually
from tests.support.pod_documents import raw


class Server:
    """A collection whose lists have the version and the names of the moment, and whose watches stay open."""

    def __init__(self) -> None:
        self.version, self.names = "10", ["a"]
        self.asked: list[str] = []
        self.events: asyncio.Queue[bytes] = asyncio.Queue()
        self.is_away = False

    async def get(self, _: str, params: Mapping[str, str], **__: Any) -> bytes:
        is_version = params.get("limit") == "1"
        self.asked.append("version" if is_version else "list")
        if is_version and self.is_away:
            raise Unreachable("no route")
        items = [{"metadata": {"name": name, "resourceVersion": "1"}} for name in self.names]
        return raw({"metadata": {"resourceVersion": self.version}, "items": items})

    @asynccontextmanager
    async def stream(self, _: str, params: Mapping[str, str], **__: Any) -> AsyncIterator[AsyncIterator[bytes]]:
        if "sendInitialEvents" in params:
            raise Invalid(422, "Invalid", "sendInitialEvents is forbidden for watch")
        self.asked.append(f"watch {params['resourceVersion']}")
        yield self._arriving()

    async def _arriving(self) -> AsyncIterator[bytes]:
        while True:
            yield await self.events.get()

    def tell(self, kind: str, name: str, version: str) -> None:
        """Let the watch bring this."""
        item = {"metadata": {"name": name, "resourceVersion": version}}
        self.events.put_nowait(raw({"type": kind, "object": item}) + b"\n")


class Names:
    """A sink that keeps names."""

    def __init__(self) -> None:
        self.now: set[str] = set()

    def replace(self, items: list[Owned]) -> None:
        self.now = {one.name for one in items}

    def upsert(self, item: Owned) -> None:
        self.now.add(item.name)

    def remove(self, gone: Owned) -> None:
        self.now.discard(gone.name)


class Playing:
    """An informer that runs, of a list that took `list_seconds`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, list_seconds: float) -> None:
        self.server, self.sink, self.troubles = Server(), Names(), list[Trouble]()
        self._ticks = 0.0
        self._step = list_seconds
        monkeypatch.setattr(catching_up, "clock", SimpleNamespace(monotonic=self._monotonic))
        self.informer = Informer(
            cast("Client", self.server), "/api/v1/widgets", decode=decode_metadata, sink=self.sink, report=self._report
        )

    def _monotonic(self) -> float:
        self._ticks += self._step
        return self._ticks

    def _report(self, trouble: Trouble) -> None:
        self.troubles.append(trouble)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(self.informer.run(), name="informer")
            await eventually(lambda: "watch 10" in self.server.asked)
            self.server.asked.clear()
            yield
            task.cancel()


async def test_a_watch_that_is_quick_enough_spares_the_list(monkeypatch: pytest.MonkeyPatch) -> None:
    playing = Playing(monkeypatch, list_seconds=100)
    async with playing.running(), asyncio.TaskGroup() as group:
        playing.server.version = "12"
        caught_up = group.create_task(playing.informer.catch_up(), name="catch-up")
        playing.server.tell("ADDED", "b", "11")
        await eventually(lambda: "b" in playing.sink.now)
        assert not caught_up.done()
        playing.server.tell("BOOKMARK", "", "12")
        await asyncio.wait_for(caught_up, 5)
    assert (playing.server.asked, playing.troubles) == (["version"], [])


async def test_a_watch_that_is_slower_than_a_list_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    playing = Playing(monkeypatch, list_seconds=0)
    async with playing.running():
        playing.server.version, playing.server.names = "12", ["a", "b"]
        await asyncio.wait_for(playing.informer.catch_up(), 5)
        assert playing.sink.now == {"a", "b"}
        await eventually(lambda: playing.server.asked == ["version", "list", "watch 12"])
        playing.server.tell("DELETED", "a", "13")
        await eventually(lambda: playing.sink.now == {"b"})
    assert playing.troubles == []


async def test_a_version_of_another_history_takes_a_list(monkeypatch: pytest.MonkeyPatch) -> None:
    playing = Playing(monkeypatch, list_seconds=100)
    async with playing.running():
        playing.server.version, playing.server.names = "5", ["c"]
        await asyncio.wait_for(playing.informer.catch_up(), 5)
        assert playing.sink.now == {"c"}
    assert [one.cause for one in playing.troubles] == ["rewound"]


async def test_without_a_version_it_takes_a_list(monkeypatch: pytest.MonkeyPatch) -> None:
    playing = Playing(monkeypatch, list_seconds=100)
    async with playing.running():
        playing.server.is_away, playing.server.names = True, ["a", "b"]
        await asyncio.wait_for(playing.informer.catch_up(), 5)
        assert playing.sink.now == {"a", "b"}
    assert [one.cause for one in playing.troubles] == ["Unreachable"]
