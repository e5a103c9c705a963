"""The observability endpoints of a program: /healthz, /readyz and /metrics. Read-only."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from aiohttp import web
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from controller.telemetry import connections
from controller.telemetry.connections import Tls

Check = Callable[[], str | None]
"""None when all is well, else one line that says what is not."""


_PORT_DIGITS = 5
_BACKLOG = 1024
_TURNS = 3
"""Of the loop, after which what is closed is gone: the connection, and what is secured above it."""


class AddressError(Exception):
    """An address that cannot be listened on; the text says which and what to do."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where to listen; port 0 takes a free one."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> Address:
        """Read `HOST:PORT` or `:PORT` (all interfaces)."""
        host, colon, port = text.rpartition(":")
        if not colon or not port.isdecimal() or len(port) > _PORT_DIGITS or int(port) > 65535:
            raise AddressError(f"{text!r} is not an address; write HOST:PORT, such as 127.0.0.1:8080")
        return cls(host.strip("[]"), int(port))


def endpoints(
    registry: CollectorRegistry,
    *,
    ready: Check,
    healthy: Check,
    refresh: Callable[[], Iterable[None] | None] = lambda: None,
) -> web.Application:
    """Build the app; `refresh` brings gauges up to date just before a scrape.

    Where that takes long, it is done in parts, as what it returns is gone through: others go on in between.
    """
    scraping = asyncio.Lock()

    async def metrics(_: web.Request) -> web.Response:
        async with scraping:  # nobody may read what another one's refresh has half done
            for _part in refresh() or ():
                await asyncio.sleep(0)
            # by a thread: it has a line for each queue, flavor and resource
            body = await asyncio.to_thread(generate_latest, registry)
        return web.Response(body=body, headers={"Content-Type": CONTENT_TYPE_LATEST})

    def answer(check: Check) -> Callable[[web.Request], object]:
        async def handler(_: web.Request) -> web.Response:
            problem = check()
            return web.Response(text="ok" if problem is None else problem, status=200 if problem is None else 503)

        return handler

    app = web.Application()
    app.router.add_get("/metrics", metrics)
    app.router.add_get("/healthz", answer(healthy))  # type: ignore[arg-type] # aiohttp's handler type is not exported
    app.router.add_get("/readyz", answer(ready))  # type: ignore[arg-type] # as above
    return app


@asynccontextmanager
async def serving(
    app: web.Application, address: Address, *, tls: Tls | None = None, most: int = connections.MOST
) -> AsyncIterator[Address]:
    """Serve `app` while the block runs, over at most so many connections; yields the address with its real port.

    Raises AddressError when the address cannot be listened on.
    """
    try:
        listening = await asyncio.to_thread(_bound, address)
    except (OSError, UnicodeError) as error:
        where = f"{address.host or '*'}:{address.port}"
        why = getattr(error, "strerror", None) or error
        raise AddressError(f"cannot listen on {where}: {why}; choose another address") from error
    app.middlewares.append(connections.noting)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    server = runner.server
    if server is None:
        raise AssertionError("setup makes the server")
    # not of a TaskGroup: that would make a group of whatever the block raises
    loop = asyncio.get_running_loop()
    peers = connections.Peers(most, loop.time)
    accepting = loop.create_task(connections.accept(listening, server, peers, tls), name="accept")
    try:
        yield Address(address.host, listening.getsockname()[1])
    finally:
        accepting.cancel()
        with suppress(asyncio.CancelledError):
            await accepting
        listening.close()
        await runner.cleanup()
        peers.end()  # who does not say goodbye
        for _ in range(_TURNS):
            await asyncio.sleep(0)


def _bound(address: Address) -> socket.socket:
    """Listen; without a host on all interfaces, by both protocols where there are two."""
    both = not address.host and socket.has_dualstack_ipv6()
    family = socket.AF_INET6 if both or ":" in address.host else socket.AF_INET
    listening = socket.create_server((address.host, address.port), family=family, backlog=_BACKLOG, dualstack_ipv6=both)
    listening.setblocking(False)
    return listening
