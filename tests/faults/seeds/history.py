"""All that the apiserver told of some collections, in its order: what really happened, whatever was made of it.

Watches of the test's own bring it, which nothing disturbs. Versions are comparable: one etcd keeps all of it.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import orjson

from controller.kube import clock
from controller.kube.client import Client
from controller.kube.errors import Silent, Unreachable
from controller.sandbox.installation import NAMESPACE
from tests.support.apiserver_proxy import lines_of
from tests.support.team import OURS

Json = dict[str, Any]
PATHS: Mapping[str, str] = {
    "pods": "/api/v1/pods",
    "jobs": "/apis/batch/v1/jobs",
    "nodes": "/api/v1/nodes",
    "clusterqueues": f"{OURS}/clusterqueues",
    "localqueues": f"{OURS}/localqueues",
    "resourceflavors": f"{OURS}/resourceflavors",
    "leases": f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases",
}
_SILENT_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class Event:
    """One version of an object: how it became so, when it was told, and the line that told it."""

    type: str
    version: int
    at: float
    object: Json
    line: bytes

    @property
    def key(self) -> tuple[str, str]:
        """Namespace and name."""
        return self.object["metadata"].get("namespace", ""), self.object["metadata"]["name"]

    @property
    def uid(self) -> str:
        """Of the object."""
        return str(self.object["metadata"]["uid"])

    @property
    def is_end(self) -> bool:
        """Whether the object is gone."""
        return self.type == "DELETED"


@dataclass(slots=True)
class History:
    """Events by collection, in the order of their versions."""

    events: dict[str, list[Event]] = field(default_factory=lambda: {name: [] for name in PATHS})

    @asynccontextmanager
    async def kept(self, client: Client) -> AsyncIterator[History]:
        """Keep it from now on, beginning with all that there is."""
        begun: dict[str, asyncio.Event] = {name: asyncio.Event() for name in PATHS}
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._keep(client, name, begun[name]), name=f"history-{name}") for name in PATHS]
            try:
                async with asyncio.timeout(60):
                    for one in begun.values():
                        await one.wait()
                yield self
            finally:
                for task in tasks:
                    task.cancel()

    async def _keep(self, client: Client, name: str, begun: asyncio.Event) -> None:
        initial = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
        version = ""
        while True:
            params = {"watch": "1", "allowWatchBookmarks": "true", "resourceVersion": version}
            try:
                async with client.stream(
                    PATHS[name], {**params, **({} if version else initial)}, silent_seconds=_SILENT_SECONDS
                ) as chunks:
                    async for line in lines_of(chunks):
                        version = self._take(name, line)
                        if b"k8s.io/initial-events-end" in line[:4096]:
                            begun.set()
            except (Silent, Unreachable):
                continue

    def _take(self, name: str, line: bytes) -> str:
        told = orjson.loads(line)
        version = str(told["object"]["metadata"]["resourceVersion"])
        if told["type"] != "BOOKMARK":
            self.events[name].append(Event(told["type"], int(version), clock.monotonic(), told["object"], line))
        return version

    def as_of(self, name: str, at: float) -> tuple[dict[tuple[str, str], Event], list[Event]]:
        """The collection as it was told until then, and what came since."""
        events = self.events[name]
        number = bisect_right(events, at, key=lambda event: event.at)
        then: dict[tuple[str, str], Event] = {}
        for event in events[:number]:
            then.pop(event.key, None)
            if not event.is_end:
                then[event.key] = event
        return then, events[number:]

    def newest(self, name: str) -> int:
        """The version of the last event of a collection."""
        return self.events[name][-1].version if self.events[name] else 0

    def lives(self, name: str, namespace: str) -> Iterator[list[Event]]:
        """The versions of each object of a namespace, those of one uid together."""
        found: dict[str, list[Event]] = {}
        for event in sorted(self.events[name], key=lambda event: event.version):
            if event.key[0] == namespace:
                found.setdefault(event.uid, []).append(event)
        yield from found.values()
