"""A server over TLS for a test, with certificates of its own, and connections to it byte by byte."""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path
from typing import Any

import orjson
import trustme

from controller.telemetry.http import Address

Json = dict[str, Any]
LOOPBACK = Address("127.0.0.1", 0)
QUEUED: Json = {"metadata": {"labels": {"penstock.dev/queue-name": "main"}}, "spec": {}}


def review(*, spaces: int = 0, namespace: str = "") -> bytes:
    """A review of a new pod that names a queue, as the apiserver writes it, so many bytes longer."""
    request = {
        "uid": "4-2",
        "operation": "CREATE",
        "namespace": namespace,
        "resource": {"group": "", "resource": "pods"},
        "object": QUEUED,
    }
    return orjson.dumps({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request}) + (
        b" " * spaces
    )


def head(length: int, path: str = "/mutate/pods") -> bytes:
    """The head of a request whose body is so long."""
    return f"POST {path} HTTP/1.1\r\nHost: webhook\r\nContent-Length: {length}\r\n\r\n".encode()


class Pair:
    """A certificate and key in files, by an authority of its own."""

    def __init__(self, folder: Path, authority: trustme.CA | None = None) -> None:
        self.certificate, self.key = folder / "tls.crt", folder / "tls.key"
        self.authority = trustme.CA() if authority is None else authority
        self.issue()

    def issue(self) -> None:
        """Replace both, each at once, as a Secret's volume is."""
        issued = self.authority.issue_cert("127.0.0.1")
        for path, pem in ((self.certificate, issued.cert_chain_pems[0]), (self.key, issued.private_key_pem)):
            fresh = path.with_suffix(".new")
            fresh.write_bytes(pem.bytes())
            fresh.replace(path)

    def trusting(self) -> ssl.SSLContext:
        """What a client of the server needs."""
        context = ssl.create_default_context()
        self.authority.configure_trust(context)
        return context


class Wire:
    """One connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    @classmethod
    async def open(cls, address: Address, context: ssl.SSLContext | None) -> Wire:
        return cls(*await asyncio.open_connection("127.0.0.1", address.port, ssl=context))

    def send(self, data: bytes) -> None:
        self._writer.write(data)

    async def ask(self, body: bytes) -> tuple[int, bytes]:
        """Status and body of the answer to a whole review."""
        self.send(head(len(body)) + body)
        return await self.answer()

    async def answer(self) -> tuple[int, bytes]:
        lines = (await self._reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        (length,) = (int(line.split(": ")[1]) for line in lines if line.startswith("Content-Length"))
        return int(lines[0].split()[1]), await self._reader.readexactly(length)

    async def closed(self) -> bool:
        """Wait until the server closes the connection; whatever it says first is passed over."""
        try:
            while await self._reader.read(65_536):
                pass
        except OSError:
            pass
        return True

    @property
    def is_open(self) -> bool:
        return not self._reader.at_eof() and self._reader.exception() is None

    def close(self) -> None:
        self._writer.transport.abort()
