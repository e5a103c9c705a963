"""Watches of a real apiserver: of a kind in which nothing happens, and one that lags behind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest

from controller.kube import watch
from controller.kube.client import Client
from controller.kube.decode import decode_metadata
from controller.kube.watch import Informer, Trouble
from controller.kube.wire import Owned
from tests.support.eventually import eventually

pytestmark = pytest.mark.integration


class Names:
    """A sink that keeps names."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def replace(self, items: list[Owned]) -> None:
        self.names = {item.name for item in items}

    def upsert(self, item: Owned) -> None:
        self.names.add(item.name)

    def remove(self, gone: Owned) -> None:
        self.names.discard(gone.name)


async def test_a_quiet_kind_is_no_trouble_and_misses_nothing(
    admin: Client, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = 0
    stream = admin.stream

    @asynccontextmanager
    async def counting(path: str, params: Mapping[str, str], **options: Any) -> AsyncIterator[AsyncIterator[bytes]]:
        nonlocal opened
        async with stream(path, params, **options) as chunks:
            opened += 1
            yield chunks

    monkeypatch.setattr(admin, "stream", counting)
    monkeypatch.setattr(watch, "SILENT_SECONDS", 1.5)
    sink, troubles, path = Names(), list[Trouble](), f"/api/v1/namespaces/{namespace}/resourcequotas"
    informer = Informer(admin, path, decode=decode_metadata, sink=sink, report=troubles.append)

    async def is_opened_anew() -> bool:
        return opened > 3

    async def has_come() -> bool:
        return "late" in sink.names

    async with asyncio.TaskGroup() as group:
        task = group.create_task(informer.run(), name="informer")
        await eventually(is_opened_anew, message="silence does not end a watch")
        assert (troubles, informer.stale_seconds) == ([], None)
        await admin.post(path, {"metadata": {"name": "late"}, "spec": {}})
        await eventually(has_come, message="what came after the silence is missing")
        task.cancel()
    assert troubles == []


async def test_catching_up_does_not_rest_on_a_watch_that_lags(
    admin: Client, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = admin.stream

    async def lists_only(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        is_listed = False
        async for chunk in chunks:
            if not is_listed:
                yield chunk
            is_listed = is_listed or b"initial-events-end" in chunk

    @asynccontextmanager
    async def lagging(path: str, params: Mapping[str, str], **options: Any) -> AsyncIterator[AsyncIterator[bytes]]:
        async with stream(path, params, **options) as chunks:
            yield lists_only(chunks)

    monkeypatch.setattr(admin, "stream", lagging)
    sink, path = Names(), f"/api/v1/namespaces/{namespace}/resourcequotas"
    informer = Informer(admin, path, decode=decode_metadata, sink=sink, report=lambda _: None)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(informer.run(), name="informer")
        async with asyncio.timeout(30):
            await informer.synced.wait()
        for number in range(5):
            await admin.post(path, {"metadata": {"name": f"late-{number}"}, "spec": {}})
            async with asyncio.timeout(30):
                await informer.catch_up()
            assert f"late-{number}" in sink.names
        task.cancel()
