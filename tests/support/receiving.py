"""A real HTTP server on loopback that notifications are sent to, and that answers as it is told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import orjson
from aiohttp import web


@dataclass(frozen=True, slots=True)
class Arrival:
    """A request as it came: path, headers and the body as JSON."""

    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]


@dataclass
class Receiver:
    """What came, in order; `statuses` are given as answers, the first first, and after them `usual`."""

    port: int = 0
    arrivals: list[Arrival] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)
    usual: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    breaks: bool = False
    """Whether it closes the connection in the place of an answer."""

    def url(self, path: str = "/hook") -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    def on(self, path: str) -> list[dict[str, Any]]:
        """The bodies that came to a path."""
        return [one.body for one in self.arrivals if one.path == path]

    @property
    def ids(self) -> list[str]:
        """The ids of the CloudEvents that came."""
        return [one.body["id"] for one in self.arrivals]

    async def handle(self, request: web.Request) -> web.Response:
        self.arrivals.append(Arrival(request.path, dict(request.headers), orjson.loads(await request.read())))
        if self.delay:
            await asyncio.sleep(self.delay)
        if self.breaks and request.transport is not None:
            request.transport.abort()
        status = self.statuses.pop(0) if self.statuses else self.usual
        return web.Response(status=status, text="no such channel\nand more", headers=self.headers)


@asynccontextmanager
async def a_server(receiver: Receiver | None = None, port: int = 0) -> AsyncIterator[Receiver]:
    """Serve on a free port, or on this one again."""
    receiver = receiver or Receiver()
    app = web.Application()
    app.router.add_post("/{path:.*}", receiver.handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", port)
    await site.start()
    receiver.port = int(runner.addresses[0][1])
    try:
        yield receiver
    finally:
        await runner.cleanup()
