"""A way to the apiserver that a test can cut and mend."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

from tests.support.eventually import eventually
from tests.support.kubeconfigs import leading_to

_CHUNK = 2**16


class TcpProxy:
    """Hands bytes on to one address, both ways, unless it is cut; then connections end and none is taken."""

    def __init__(self, target: str) -> None:
        self._target = urlsplit(target)
        self._taken = self._refused = 0
        """How many connections there were, and how many more found nobody who listens."""
        self._pipes: set[asyncio.StreamWriter] = set()
        self._flows: set[asyncio.Event] = set()
        self._is_cut = False
        self._listening: asyncio.Server | None = None

    @property
    def port(self) -> int:
        """Where it listens on loopback."""
        assert self._listening is not None
        return int(self._listening.sockets[0].getsockname()[1])

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[TcpProxy]:
        self._listening = await asyncio.start_server(self._connect, "127.0.0.1", 0)
        try:
            yield self
        finally:
            self.cut()
            self._listening.close()
            await self._listening.wait_closed()

    def cut(self) -> None:
        """End every connection, and every new one at once."""
        self._is_cut = True
        for flow in self._flows:
            flow.set()
        for pipe in list(self._pipes):
            pipe.close()

    def mend(self) -> None:
        """Take connections again."""
        self._is_cut = False

    async def move(self, target: str) -> None:
        """End every connection, and lead new ones elsewhere; return when there is one."""
        before = self._taken
        self.cut()
        self._target = urlsplit(target)
        self.mend()
        await eventually(lambda: self._taken > before, message="nobody connects again")

    async def until_refused(self) -> None:
        """Return when somebody has asked for a connection and found nobody who listens."""
        before = self._refused
        await eventually(lambda: self._refused > before, message="nobody tries to connect")

    def stall(self) -> None:
        """Hand on nothing more to who is connected now; new connections work."""
        for flow in self._flows:
            flow.clear()

    def kubeconfig(self, original: Path, folder: Path) -> Path:
        """A copy of a kubeconfig that leads through here."""
        return leading_to(f"https://127.0.0.1:{self.port}", original, folder / "kubeconfig")

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._is_cut:
            writer.close()
            return
        try:
            onward_reader, onward_writer = await asyncio.open_connection(self._target.hostname, self._target.port)
        except OSError:
            self._refused += 1
            writer.close()
            return
        self._taken += 1
        self._pipes |= {writer, onward_writer}
        flow = asyncio.Event()
        flow.set()
        self._flows.add(flow)
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._pump(reader, onward_writer, flow), name="there")
                group.create_task(self._pump(onward_reader, writer, flow), name="back")
        finally:
            self._pipes -= {writer, onward_writer}
            self._flows.remove(flow)

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, flow: asyncio.Event) -> None:
        with suppress(OSError):
            while chunk := await reader.read(_CHUNK):
                await flow.wait()
                writer.write(chunk)
                await writer.drain()
        writer.close()
