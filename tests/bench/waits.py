"""How long pods wait at a gate, as a watch of the apiserver shows it: from their creation to their release."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

from controller.kube import clock
from controller.kube.client import Client
from tests.bench.pod_events import Event, pod_events, version_now


class Waits:
    """When each pod whose name begins with a prefix was first seen, first seen without gates, and first on a node."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self.seen: dict[str, float] = {}
        self.released: dict[str, float] = {}
        self.bound: dict[str, float] = {}
        self._waiting: dict[asyncio.Event, Callable[[], bool]] = {}

    @property
    def seconds(self) -> list[float]:
        """The waits of all that were released, in ascending order."""
        return sorted(at - self.seen[name] for name, at in self.released.items())

    async def until(self, holds: Callable[[], bool], seconds: float) -> None:
        """Wait until this holds, as it is after each event. Raises TimeoutError."""
        event = asyncio.Event()
        self._waiting[event] = holds
        try:
            async with asyncio.timeout(seconds):
                if not holds():
                    await event.wait()
        finally:
            del self._waiting[event]

    @asynccontextmanager
    async def watching(self, client: Client, path: str) -> AsyncIterator[Waits]:
        """Take in what happens to the pods of this path while the block runs."""
        version = await version_now(client, path)
        async with asyncio.TaskGroup() as group:
            task = group.create_task(self._follow(client, path, version), name="waits")
            yield self
            task.cancel()

    async def _follow(self, client: Client, path: str, version: str) -> None:
        async for events in pod_events(client, path, version):
            now = clock.monotonic()
            for event in events:
                self._take(event, now)
            for reached, holds in self._waiting.items():
                if holds():
                    reached.set()

    def _take(self, event: Event, now: float) -> None:
        name = event.object.metadata.name
        if not name.startswith(self._prefix) or event.type == "DELETED":
            return
        self.seen.setdefault(name, now)
        if not event.object.spec.gates:
            self.released.setdefault(name, now)
        if event.object.spec.node:
            self.bound.setdefault(name, now)


def quantile(values: Sequence[float], part: float) -> float:
    """The value that this part of them, in ascending order, does not exceed."""
    return values[min(len(values) - 1, int(len(values) * part))]
