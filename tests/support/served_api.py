"""An extension API served over TLS on loopback, with an apiserver of our own in front of it that needs no cluster."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import orjson

from controller.extension_api.authorization import Action, Authorizer
from controller.extension_api.certificates import TrustingContext, trusting_context
from controller.extension_api.front_proxy import FrontProxy, Viewer
from controller.extension_api.pacing import Turns
from controller.extension_api.resources import Registry
from controller.extension_api.server import ExtensionApi
from controller.telemetry.authority import Authority
from controller.telemetry.http import Address, serving
from controller.telemetry.shared_authority import SharedAuthority
from tests.support.fake_client import FakeClient
from tests.support.sample_api import SampleApi, ticket

NOW = 1_800_000_000.0
LOOPBACK = Address("127.0.0.1", 0)
JANE = {"X-Remote-User": "jane"}


class EverybodyMay(Authorizer):
    """Asks nobody; `denied` is what may not be done, in namespaces of `hidden` nobody lists pods."""

    denied: Action | None = None
    hidden: frozenset[str] = frozenset()

    async def may(self, viewer: Viewer, action: Action) -> bool:
        return action != self.denied

    async def seen(self, viewer: Viewer, namespaces: Collection[str]) -> frozenset[str]:
        return frozenset(namespaces) - self.hidden


class FixedTls:
    """Contexts of an authority of ours and of a front proxy that may change."""

    def __init__(self) -> None:
        self._ours = SharedAuthority(Authority.create("ours", now=NOW, days=3650).pair, b"")
        self.change()

    def change(self) -> None:
        self.authority = Authority.create("front proxy", now=NOW - 400 * 86_400.0, days=3650)
        pem = self.authority.pair.certificate_pem.decode()
        self.front_proxy = FrontProxy(pem, frozenset({"front-proxy-client"}), ("x-remote-user",), (), (), ())
        self._context = trusting_context(self._ours, self.front_proxy, "penstock-system", now=NOW)

    def context(self) -> TrustingContext:
        return self._context

    def admits(self, certificate: Any) -> bool:
        return True


class ServedApi:
    """A served sample API, and clients that show the front proxy's certificate."""

    def __init__(self, folder: Path) -> None:
        self.api = SampleApi(ticket("a", "one"))
        self.tls = FixedTls()
        self.authorizer = EverybodyMay(FakeClient().as_client, lambda: 0.0)
        self.unsynced: str | None = None
        self.url = ""
        self._folder = folder

    @asynccontextmanager
    async def serve(self, registry: Registry | None = None) -> AsyncIterator[aiohttp.ClientSession]:
        api = ExtensionApi(
            lambda: registry or self.api.registry(),
            self.authorizer,
            turns=Turns(),
            front_proxy=lambda: self.tls.front_proxy,
            unsynced=lambda: self.unsynced,
        )
        trusted = await asyncio.to_thread(self.trusted)
        async with serving(api.app(), LOOPBACK, tls=self.tls) as address, a_client(trusted) as session:
            self.url = f"https://127.0.0.1:{address.port}"
            yield session

    def trusted(self) -> ssl.SSLContext:
        """What shows the certificate of the front proxy as it is now."""
        pair = self.tls.authority.client("front-proxy-client", now=NOW - 400 * 86_400.0, days=3650)
        file = self._folder / "client.pem"
        file.write_bytes(pair.certificate_pem + pair.key_pem)
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.load_cert_chain(file)
        return context

    async def get(self, session: aiohttp.ClientSession, path: str, **options: Any) -> tuple[int, Any]:
        async with session.request(options.pop("method", "GET"), self.url + path, **options) as response:
            return response.status, orjson.loads(await response.read())


def a_client(context: ssl.SSLContext) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=context), headers=JANE)
