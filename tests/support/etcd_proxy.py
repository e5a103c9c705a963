"""A way from an apiserver to etcd on which watches can stand still while reads and writes go on.

So an apiserver lags behind as one does whose watch of etcd is slow: what it answers from its watch caches is old, and
so is what it knows of admission policies, their parameters and rights; what it asks etcd is new.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from controller.sandbox.layout import Layout

_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_HEAD = 9
_DATA, _HEADERS = 0, 1
_END_STREAM = 1


@dataclass(frozen=True, slots=True)
class _Frame:
    """A frame of HTTP/2 (RFC 9113, section 4.1)."""

    head: bytes
    payload: bytes

    @property
    def kind(self) -> int:
        return self.head[3]

    @property
    def stream(self) -> int:
        return int.from_bytes(self.head[5:]) & 0x7FFFFFFF

    @property
    def ends(self) -> bool:
        """Whether its sender sends nothing more on this stream."""
        return self.kind in (_DATA, _HEADERS) and bool(self.head[4] & _END_STREAM)


@dataclass(slots=True, eq=False)
class _Connection:
    """One from the apiserver, with what is held of its watches."""

    to_apiserver: asyncio.StreamWriter
    to_etcd: asyncio.StreamWriter
    asked: set[int] = field(default_factory=set)
    """Streams of which the request is whole. A watch never ends its side of a stream; whoever asks once does."""
    held: list[bytes] = field(default_factory=list)


class EtcdProxy:
    """gRPC with TLS on both sides, by the certificates of a sandbox."""

    def __init__(self, layout: Layout, etcd: str) -> None:
        """`etcd`: its address."""
        self._target = urlsplit(etcd)
        self._server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self._server.load_cert_chain(layout.pki / "server.crt", layout.pki / "server.key")
        self._client = ssl.create_default_context(cafile=layout.ca)
        self._client.load_cert_chain(layout.pki / "etcd-client.crt", layout.pki / "etcd-client.key")
        for context in (self._server, self._client):
            context.set_alpn_protocols(["h2"])
        self._connections: set[_Connection] = set()
        self._is_stalled = False
        self.url = ""

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[EtcdProxy]:
        listening = await asyncio.start_server(self._connect, "127.0.0.1", 0, ssl=self._server)
        self.url = f"https://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
        try:
            yield self
        finally:
            listening.close()
            for one in list(self._connections):
                _abort(one)
            await listening.wait_closed()

    def stall_watches(self) -> None:
        """Hold back what watches bring from now on, also those that are opened later."""
        self._is_stalled = True

    def resume_watches(self) -> None:
        """Hand on what was held back, and all else."""
        self._is_stalled = False
        for one in self._connections:
            one.to_apiserver.write(b"".join(one.held))
            one.held.clear()

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        host, port = self._target.hostname, self._target.port
        try:
            from_etcd, to_etcd = await asyncio.open_connection(host, port, ssl=self._client)
        except OSError:
            writer.transport.abort()
            return
        connection = _Connection(writer, to_etcd)
        self._connections.add(connection)
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._ask(reader, connection), name="there")
                group.create_task(self._answer(from_etcd, connection), name="back")
        finally:
            self._connections.remove(connection)
            _abort(connection)

    async def _ask(self, reader: asyncio.StreamReader, connection: _Connection) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            connection.to_etcd.write(await reader.readexactly(len(_PREFACE)))
            async for frame in _frames(reader):
                if frame.ends:
                    connection.asked.add(frame.stream)
                connection.to_etcd.write(frame.head + frame.payload)
                await connection.to_etcd.drain()
        _abort(connection)

    async def _answer(self, reader: asyncio.StreamReader, connection: _Connection) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            async for frame in _frames(reader):
                # headers are never held: those of all streams are compressed with one another, in their order
                if self._is_stalled and frame.kind == _DATA and frame.stream not in connection.asked:
                    connection.held.append(frame.head + frame.payload)
                    continue
                if frame.ends:
                    connection.asked.discard(frame.stream)
                connection.to_apiserver.write(frame.head + frame.payload)
                await connection.to_apiserver.drain()
        _abort(connection)


async def _frames(reader: asyncio.StreamReader) -> AsyncIterator[_Frame]:
    while True:
        head = await reader.readexactly(_HEAD)
        yield _Frame(head, await reader.readexactly(int.from_bytes(head[:3])))


def _abort(connection: _Connection) -> None:
    connection.to_apiserver.transport.abort()
    connection.to_etcd.transport.abort()
