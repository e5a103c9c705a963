"""The way of the apiserver to pods of the machine: a proxy that its egress selector uses, on a socket in a folder.

The apiserver resolves a Service by its endpoints and asks for CONNECT to a pod's address; who has it says where it
listens. TLS goes through untouched: certificates have to be right, as in a cluster.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from controller.sandbox.files import write_private
from tests.support.machine.pod_process import PodProcess

KUBELET = 10250
Listens = Callable[[str, int], int | None]
"""Where on loopback something listens that has this address and port in the cluster; None: nobody has them."""
_LISTENERS = {9443: "reviews", 8443: "visibility"}
_CHUNK = 2**16

_CONFIGURATION = """\
apiVersion: apiserver.k8s.io/v1beta1
kind: EgressSelectorConfiguration
egressSelections:
- name: cluster
  connection:
    proxyProtocol: HTTPConnect
    transport:
      uds:
        udsName: {socket}
"""


class WayIn:
    """What an apiserver is started with, and what then answers it."""

    def __init__(self, folder: Path) -> None:
        self._socket = folder / "way-in.sock"
        configuration = write_private(folder / "egress.yaml", _CONFIGURATION.format(socket=self._socket).encode())
        self.apiserver_flags = {
            "egress-selector-config-file": str(configuration),
            "enable-aggregator-routing": "true",
        }

    @asynccontextmanager
    async def open(self, who_has: Callable[[str], PodProcess | None], kubelet: int) -> AsyncIterator[None]:
        """Lead to the pods that `who_has` knows by address, and to the kubelet, which listens on this port."""

        def listens(address: str, port: int) -> int | None:
            if port == KUBELET:
                return kubelet
            pod = who_has(address)
            return pod.port(_LISTENERS[port]) if pod is not None and port in _LISTENERS else None

        opened = set[asyncio.StreamWriter]()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            opened.add(writer)
            with suppress(OSError, asyncio.IncompleteReadError):
                await _lead(reader, writer, listens)
            writer.close()
            opened.remove(writer)

        self._socket.unlink(missing_ok=True)
        server = await asyncio.start_unix_server(serve, self._socket)
        try:
            yield
        finally:
            server.close()
            for writer in opened:
                writer.close()


async def _lead(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, listens: Listens) -> None:
    head = await reader.readuntil(b"\r\n\r\n")
    address, _, port = head.split()[1].decode().rpartition(":")
    local = listens(address, int(port))
    if local is None:
        writer.write(b"HTTP/1.1 502 nobody has this address\r\n\r\n")
        return
    inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", local)
    writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
    await asyncio.gather(_copy(reader, inner_writer), _copy(inner_reader, writer))


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while chunk := await reader.read(_CHUNK):
            writer.write(chunk)
            await writer.drain()
    finally:
        writer.close()
