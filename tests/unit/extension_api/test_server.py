"""The server by itself, over TLS on loopback: whom it answers, and how it refuses."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import aiohttp
import orjson
import pytest
from structlog.testing import capture_logs

from controller.extension_api.authorization import Action
from controller.extension_api.paths import ROOT
from controller.extension_api.resources import Page, Query, Registry
from tests.support.sample_api import SampleApi, ticket
from tests.support.served_api import ServedApi, a_client


@pytest.fixture
def world(tmp_path: Path) -> ServedApi:
    return ServedApi(tmp_path)


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
async def test_each_path_has_its_kind(world: ServedApi, path: str, kind: str) -> None:
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
async def test_what_is_not_served_is_a_status(world: ServedApi, method: str, path: str, code: int) -> None:
    async with world.serve() as session:
        found, body = await world.get(session, path, method=method)
    assert (found, body["kind"], body["code"]) == (code, "Status", code)


async def test_a_connection_of_an_authority_that_is_gone_ends(world: ServedApi) -> None:
    async with world.serve() as session:
        assert (await world.get(session, f"{ROOT}/tickets"))[0] == 200
        await asyncio.to_thread(world.tls.change)
        code, body = await world.get(session, f"{ROOT}/tickets")
        assert (code, "connect again" in body["message"]) == (401, True)
        async with a_client(await asyncio.to_thread(world.trusted)) as fresh:
            assert (await world.get(fresh, f"{ROOT}/tickets"))[0] == 200
        with pytest.raises(aiohttp.ClientError):
            await world.get(session, f"{ROOT}/tickets")


async def test_before_anything_is_known_it_says_so(world: ServedApi) -> None:
    world.unsynced = "not listed yet: pods"
    async with world.serve() as session, session.get(f"{world.url}{ROOT}/tickets") as response:
        body = orjson.loads(await response.read())
        assert (response.status, response.headers["Retry-After"], body["message"]) == (503, "1", world.unsynced)
        assert response.headers["Connection"] == "close"


async def test_who_may_not_is_told_whom_to_ask(world: ServedApi) -> None:
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


async def test_a_fault_of_ours_is_no_answer_of_half(world: ServedApi) -> None:
    async with world.serve(failing(KeyError("gone"))) as session:
        with capture_logs() as logged:
            code, body = await world.get(session, f"{ROOT}/tickets")
    assert [(entry["event"], entry["exc_info"]) for entry in logged] == [("request_failed", True)]
    assert (code, body["reason"]) == (500, "InternalError")
    assert "gone" not in body["message"]


async def test_an_answer_has_to_come_in_time(world: ServedApi) -> None:
    async with world.serve(failing(None)) as session:
        code, body = await world.get(session, f"{ROOT}/tickets", params={"timeout": "1s"})
    assert (code, body["reason"]) == (504, "Timeout")
