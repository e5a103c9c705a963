"""Connections that a server of ours holds: so many at most, and none for long that its peer leaves unfinished.

Anybody who reaches the port can open them. At the most, the one goes that has waited longest for its peer: those who
mean it send a request within milliseconds.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from socket import socket
from typing import Any, Final, Protocol, cast

from aiohttp import web

from controller.telemetry import logs

_log = logs.get("connections")

MOST: Final = 512
"""Connections to one port. Far more than apiservers have requests under way that wait for us; an idle one costs some
60 KiB."""

REQUEST_SECONDS: Final = 5.0
"""In which a handshake, or a request from its first byte to its last, has to be whole: the apiserver waits less."""

IDLE_SECONDS: Final = 100.0
"""For which a connection is kept for the next request: a little more than the apiserver keeps it."""

_OUT_OF_FILES_SECONDS: Final = 0.1
_LINGER_SECONDS: Final = 1.0
"""For which the rest of a body that nobody wants is read, so that its writer comes to read the answer."""


class Tls(Protocol):
    """How connections are secured."""

    def context(self) -> ssl.SSLContext:
        """What a new connection is served by."""

    def admits(self, certificate: Mapping[str, Any]) -> bool:
        """Whether who has shown this certificate is served; of those who need not show one it is empty."""


class Peer:
    """Who is at the other end of one connection."""

    __slots__ = ("close", "is_idle")

    def __init__(self, close: Callable[[], object]) -> None:
        self.close = close
        self.is_idle = False


class Peers:
    """All connections of a server, in the order in which they began to wait for their peers."""

    def __init__(self, most: int, now: Callable[[], float]) -> None:
        self._most = most
        self._now = now
        self._here: set[Peer] = set()
        self._waiting: dict[Peer, float] = {}

    def __len__(self) -> int:
        return len(self._here)

    def arrive(self, peer: Peer) -> bool:
        """Take in a new one, for which the one goes that waits longest; False when nobody waits."""
        if len(self._here) >= self._most:
            longest = next(iter(self._waiting), None)
            if longest is None:
                return False
            self._end(longest)
        self._here.add(peer)
        self._wait(peer)
        return True

    def begin(self, peer: Peer) -> None:
        """A request begins to come."""
        if peer.is_idle:
            peer.is_idle = False
            self._wait(peer)

    def whole(self, peer: Peer) -> None:
        """All of a request has come: now its peer waits for us."""
        peer.is_idle = False
        self._waiting.pop(peer, None)

    def answered(self, peer: Peer) -> None:
        """We wait for the next request."""
        if peer in self._here:
            peer.is_idle = True
            self._wait(peer)

    def leave(self, peer: Peer) -> None:
        """The connection is gone."""
        self._here.discard(peer)
        self._waiting.pop(peer, None)

    def sweep(self) -> None:
        """Close those whose request is overdue."""
        over = self._now() - REQUEST_SECONDS
        for peer in [peer for peer, since in self._waiting.items() if since <= over and not peer.is_idle]:
            self._end(peer)

    def end(self) -> None:
        """Close all that are left."""
        for peer in [*self._here]:
            self._end(peer)

    def _wait(self, peer: Peer) -> None:
        self._waiting.pop(peer, None)  # to the end
        self._waiting[peer] = self._now()

    def _end(self, peer: Peer) -> None:
        self.leave(peer)
        peer.close()


class Connection(web.RequestHandler):
    """aiohttp's side of one connection, which tells of it to the peers."""

    __slots__ = ("peer", "peers", "tls")

    def __init__(self, server: web.Server, peers: Peers, peer: Peer, tls: Tls | None) -> None:
        super().__init__(
            server,
            loop=asyncio.get_running_loop(),
            keepalive_timeout=IDLE_SECONDS,
            lingering_time=_LINGER_SECONDS,
            access_log=None,  # type: ignore[arg-type] # as web.AppRunner takes it
            auto_decompress=False,  # nobody who means it compresses, and a few bytes could become gigabytes
        )
        self.peers, self.peer, self.tls = peers, peer, tls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Close it at once where the peer has shown the wrong certificate."""
        self.peer.close = cast(asyncio.Transport, transport).abort
        super().connection_made(transport)
        if self.tls is not None and not self.tls.admits(transport.get_extra_info("peercert") or {}):
            self.peer.close()

    def data_received(self, data: bytes) -> None:
        """Note that a request begins."""
        if data:
            self.peers.begin(self.peer)
        super().data_received(data)

    def connection_lost(self, exc: BaseException | None) -> None:
        """Make room for another."""
        self.peers.leave(self.peer)
        super().connection_lost(exc)


@web.middleware
async def noting(request: web.Request, handler: Any) -> web.StreamResponse:
    """Tell the peers when a request is whole, and when it is answered."""
    connection = request.protocol
    if not isinstance(connection, Connection):
        raise TypeError("the server makes its connections otherwise")
    peers, peer = connection.peers, connection.peer
    request.content.on_eof(lambda: peers.whole(peer))
    try:
        answer: web.StreamResponse = await handler(request)
        return answer
    finally:
        peers.answered(peer)


async def accept(listening: socket, server: web.Server, peers: Peers, tls: Tls | None) -> None:
    """Serve the connections of a listening socket until cancelled."""
    loop = asyncio.get_running_loop()
    async with asyncio.TaskGroup() as group:
        group.create_task(_sweeping(peers), name="connections")
        while True:
            try:
                arrived, _ = await loop.sock_accept(listening)
            except OSError:  # such as no more open files: those who wait do so in the kernel
                await asyncio.sleep(_OUT_OF_FILES_SECONDS)
                continue
            peer = Peer(lambda: None)
            if peers.arrive(peer):
                task = group.create_task(_open(arrived, Connection(server, peers, peer, tls)), name="handshake")
                peer.close = task.cancel
                task.add_done_callback(partial(_unopened, arrived))
            else:
                arrived.close()
            await asyncio.sleep(0)  # however many arrive


def _unopened(arrived: socket, task: asyncio.Task[None]) -> None:
    """Close what was ended before the loop had it; of what it has, this is forgotten only."""
    if task.cancelled():
        arrived.close()


async def _open(arrived: socket, connection: Connection) -> None:
    """Shake hands; from then on the socket is the loop's to close."""
    loop, tls = asyncio.get_running_loop(), connection.tls
    options: dict[str, Any] = {}
    if tls is not None:
        options = {
            "ssl": tls.context(),
            "ssl_handshake_timeout": REQUEST_SECONDS,
            "ssl_shutdown_timeout": _LINGER_SECONDS,
        }
    is_open = False
    try:
        with suppress(OSError):  # the peer is no client of ours, or too slow
            await loop.connect_accepted_socket(lambda: connection, arrived, **options)
            is_open = True
    except Exception:  # noqa: BLE001 - one connection must not end all others
        _log.exception("connection_failed")
    finally:
        if not is_open:
            connection.peers.leave(connection.peer)


async def _sweeping(peers: Peers) -> None:
    while True:
        await asyncio.sleep(REQUEST_SECONDS / 5)
        peers.sweep()
