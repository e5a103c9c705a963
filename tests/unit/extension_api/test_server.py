"""The server by itself, over TLS on loopback: whom it answers, and how it refuses."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import aiohttp
import orjson
import pytest
from structlog.testing import capture_logs

from controller.extension_api.authorization import Action, Authorizer
from controller.extension_api.certificates import SharedAuthority, TrustingContext, serving_context
from controller.extension_api.front_proxy import FrontProxy, Viewer
from controller.extension_api.pacing import Turns
from controller.extension_api.paths import ROOT
from controller.extension_api.resources import Page, Query, Registry
from controller.extension_api.server import ExtensionApi
from controller.telemetry.authority import Authority
from controller.telemetry.http import Address, serving
from tests.support.fake_client import FakeClient
from tests.support.sample_api import SampleApi, ticket

NOW = 1_800_000_000.0
LOOPBACK = Address("127.0.0.1", 0)
JANE = {"X-Remote-User": "jane"}


class EverybodyMay(Authorizer):
    """Asks nobody; `denied` is what may not be done."""

    denied: Action | None = None

    async def may(self, viewer: Viewer, action: Action) -> bool:
        return action != self.denied

    async def seen(self, viewer: Viewer, namespaces: Collection[str]) -> frozenset[str]:
        return frozenset(namespaces)


class FixedTls:
    """Contexts of an authority of ours and of a front proxy that may change."""

    def __init__(self) -> None:
        self._ours = SharedAuthority(Authority.create("ours", now=NOW, days=3650).pair, b"")
        self.change()

    def change(self) -> None:
        self.authority = Authority.create("front proxy", now=NOW - 400 * 86_400.0, days=3650)
        pem = self.authority.pair.certificate_pem.decode()
        self.front_proxy = FrontProxy(pem, frozenset({"front-proxy-client"}), ("x-remote-user",), (), (), ())
        self._context = serving_context(self._ours, self.front_proxy, "penstock-system", now=NOW)

    def context(self) -> TrustingContext:
        return self._context

    def admits(self, certificate: Any) -> bool:
        return True


class World:
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


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/apis", "APIGroupList"),
        ("/apis/visibility.penstock.dev", "APIGroup"),
        (ROOT, "APIResourceList"),
        (f"{ROOT}/tickets", "TicketList"),
        (f"{ROOT}/namespaces/a/tickets/one", "Ticket"),
    ],
)
async def test_each_path_has_its_kind(world: World, path: str, kind: str) -> None:
    async with world.serve() as session:
        code, body = await world.get(session, path)
    assert (code, body["kind"]) == (200, kind)


@pytest.mark.parametrize(
    ("method", "path", "code"),
    [
        ("POST", f"{ROOT}/tickets", 405),
        ("DELETE", f"{ROOT}/namespaces/a/tickets/one", 405),
        ("GET", "/", 404),
        ("GET", "/healthz", 404),
        ("GET", "/apis/apps/v1/deployments", 404),
    ],
)
async def test_what_is_not_served_is_a_status(world: World, method: str, path: str, code: int) -> None:
    async with world.serve() as session:
        found, body = await world.get(session, path, method=method)
    assert (found, body["kind"], body["code"]) == (code, "Status", code)


async def test_a_connection_of_an_authority_that_is_gone_ends(world: World) -> None:
    async with world.serve() as session:
        assert (await world.get(session, f"{ROOT}/tickets"))[0] == 200
        await asyncio.to_thread(world.tls.change)
        code, body = await world.get(session, f"{ROOT}/tickets")
        assert (code, "connect again" in body["message"]) == (401, True)
        async with a_client(await asyncio.to_thread(world.trusted)) as fresh:
            assert (await world.get(fresh, f"{ROOT}/tickets"))[0] == 200
        with pytest.raises(aiohttp.ClientError):
            await world.get(session, f"{ROOT}/tickets")


async def test_before_anything_is_known_it_says_so(world: World) -> None:
    world.unsynced = "not listed yet: pods"
    async with world.serve() as session, session.get(f"{world.url}{ROOT}/tickets") as response:
        body = orjson.loads(await response.read())
        assert (response.status, response.headers["Retry-After"], body["message"]) == (503, "1", world.unsynced)
        assert response.headers["Connection"] == "close"


async def test_who_may_not_is_told_whom_to_ask(world: World) -> None:
    world.authorizer.denied = Action.ours("list", "tickets", "", "a", "")
    async with world.serve() as session:
        code, body = await world.get(session, f"{ROOT}/namespaces/a/tickets")
        assert (await world.get(session, f"{ROOT}/tickets"))[0] == 200
    assert code == 403
    assert body["message"].startswith('User "jane" cannot list resource "tickets" in API group')


def failing(error: Exception | None) -> Registry:
    """Tickets that cannot be listed, or not in time."""

    async def fail(query: Query) -> Page:
        if error is not None:
            raise error
        return Page([ticket("a", "one")], end="again")

    lines, _, tickets = SampleApi().registry().all
    return Registry([lines, replace(tickets, list=fail)])


async def test_a_fault_of_ours_is_no_answer_of_half(world: World) -> None:
    async with world.serve(failing(KeyError("gone"))) as session:
        with capture_logs() as logged:
            code, body = await world.get(session, f"{ROOT}/tickets")
    assert [(entry["event"], entry["exc_info"]) for entry in logged] == [("request_failed", True)]
    assert (code, body["reason"]) == (500, "InternalError")
    assert "gone" not in body["message"]


async def test_an_answer_has_to_come_in_time(world: World) -> None:
    async with world.serve(failing(None)) as session:
        code, body = await world.get(session, f"{ROOT}/tickets", params={"timeout": "1s"})
    assert (code, body["reason"]) == (504, "Timeout")
