"""Requests to an extension API server past the apiserver, with headers that say what they like."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import aiohttp

from controller.kube import clock
from controller.sandbox import Sandbox
from controller.telemetry.authority import Authority, KeyPair
from tests.support.viewers import Reply

ROOT_USER: Final[Mapping[str, str]] = {"X-Remote-User": "root", "X-Remote-Group": "system:masters"}


@dataclass(frozen=True, slots=True)
class Direct:
    """The server at this port; `folder` takes certificates."""

    sandbox: Sandbox
    port: int
    folder: Path

    def signed(self, authority: str, name: str) -> KeyPair:
        """A client certificate by an authority of the sandbox."""
        pki = self.sandbox.folder / "pki"
        pair = KeyPair(*((pki / f"{authority}.{end}").read_bytes() for end in ("crt", "key")))
        return Authority.load(pair).client(name, now=clock.now(), days=1)

    async def get(self, path: str, shown: KeyPair | None, said: Mapping[str, str] = ROOT_USER) -> Reply:
        """One GET on a connection of its own, as who the headers say it is if that is believed."""
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        if shown is not None:
            file = self.folder / "client.pem"
            file.write_bytes(shown.certificate_pem + shown.key_pem)
            context.load_cert_chain(file)
        async with (
            aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=context)) as session,
            session.get(f"https://127.0.0.1:{self.port}{path}", headers=said) as response,
        ):
            return Reply(response.status, await response.read())
