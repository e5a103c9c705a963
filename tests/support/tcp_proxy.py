"""A way to the apiserver that a test can cut and mend."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import yaml

_CHUNK = 2**16


class TcpProxy:
    """Hands bytes on to one address, both ways, unless it is cut; then connections end and none is taken."""

    def __init__(self, target: str) -> None:
        parts = urlsplit(target)
        self._host, self._port = parts.hostname or "127.0.0.1", parts.port or 443
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

    def stall(self) -> None:
        """Hand on nothing more to who is connected now; new connections work."""
        for flow in self._flows:
            flow.clear()

    def kubeconfig(self, original: Path, folder: Path) -> Path:
        """A copy of a kubeconfig that leads through here."""
        content = yaml.safe_load(original.read_text())
        for cluster in content["clusters"]:
            cluster["cluster"]["server"] = f"https://127.0.0.1:{self.port}"
        path = folder / "kubeconfig"
        path.touch(mode=0o600)
        path.write_text(yaml.safe_dump(content))
        return path

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._is_cut:
            writer.close()
            return
        onward_reader, onward_writer = await asyncio.open_connection(self._host, self._port)
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
