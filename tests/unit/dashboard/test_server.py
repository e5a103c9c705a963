"""The server of the page: who is let in, what it refuses, and what every answer says to the browser."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiohttp import ClientResponse, CookieJar
from aiohttp.test_utils import TestClient, TestServer

from controller.dashboard.files import Files, NotBuilt
from controller.dashboard.one_viewer import OneViewer
from controller.dashboard.server import Dashboard
from controller.extension_api.paths import ROOT
from controller.kube.errors import Forbidden, Invalid, Unauthorized
from tests.support.eventually import eventually
from tests.support.fake_client import FakeClient

ME = b'{"status":{"userInfo":{"username":"ann"}}}'
SIMULATION = b'{"status":{"time":"2026-11-28T12:00:00Z"}}'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A page as it is built."""
    (tmp_path / "assets").mkdir()
    (tmp_path / "index.html").write_text("<title>Penstock</title>")
    (tmp_path / "assets" / "main-1a2b.js").write_text("let page = 1;" * 100)
    return tmp_path


Page = TestClient[Any, Any]


@asynccontextmanager
async def a_page(folder: Path, fake: FakeClient) -> AsyncIterator[tuple[Page, str]]:
    """A page and the address that lets in, without its host."""
    viewers = OneViewer(fake.as_client)
    files = await asyncio.to_thread(Files.read, folder)
    page = Dashboard(viewers, files, cluster="https://c", namespace="team-a", is_ours=lambda name: name == "127.0.0.1")
    # the jar of aiohttp takes no cookies of hosts without a name unless it is told to
    async with page.app() as app, TestClient(TestServer(app), cookie_jar=CookieJar(unsafe=True)) as client:
        yield client, viewers.address("127.0.0.1", 1).removeprefix("http://127.0.0.1:1")


async def entered(client: Page, address: str) -> Page:
    assert (await client.get(address)).status == 200
    return client


async def told(response: ClientResponse) -> Any:
    return msgspec.json.decode(await response.read())


async def test_the_address_lets_in_and_nothing_else_does(folder: Path) -> None:
    fake = FakeClient().will("POST", ME)
    async with a_page(folder, fake) as (client, address):
        for path in ("/api/session", "/api/live?part=pods"):
            refused = await client.get(path)
            assert (refused.status, await told(refused)) == (401, {"signIn": {"kind": "address"}})
        await client.get("/open?key=guessed")
        assert (await client.get("/api/session")).status == 401
        await entered(client, address)
        found = await told(await client.get("/api/session"))
        assert found == {"user": "ann", "cluster": "https://c", "namespace": "team-a", "ends": False}


async def test_the_cookie_is_for_this_page_alone(folder: Path) -> None:
    async with a_page(folder, FakeClient()) as (client, address):
        answer = await client.get(address, allow_redirects=False)
        (cookie,) = answer.headers.getall("Set-Cookie")
        assert (answer.status, answer.headers["Location"]) == (303, "/")
        for part in ("HttpOnly", "SameSite=Strict", "Path=/"):
            assert part in cookie


@pytest.mark.parametrize(
    ("headers", "path"),
    [
        ({"Host": "evil.example:80"}, "/"),
        ({"Host": "127.0.0.1.evil.example:80"}, "/api/session"),
        ({"Host": "localhost:1%1"}, "/"),
        ({"Host": ""}, "/"),
        ({"Sec-Fetch-Site": "cross-site"}, "/api/session"),
        ({"Sec-Fetch-Site": "same-site"}, "/api/live?part=pods"),
    ],
)
async def test_requests_of_other_names_and_sites_are_refused(folder: Path, headers: dict[str, str], path: str) -> None:
    fake = FakeClient()
    async with a_page(folder, fake) as (client, address):
        await entered(client, address)
        assert (await client.get(path, headers=headers)).status == 403
    assert fake.calls == []


async def test_every_answer_has_the_policy_of_the_page(folder: Path) -> None:
    async with a_page(folder, FakeClient().will("POST", ME)) as (client, address):
        await entered(client, address)
        for path in ("/", "/pods/a/b", "/assets/main-1a2b.js", "/assets/gone.js", "/api/session", "/api/none"):
            policy = (await client.get(path)).headers["Content-Security-Policy"]
            assert "default-src 'none'; script-src 'self';" in policy
            assert "unsafe" not in policy


@pytest.mark.parametrize(
    ("path", "status", "kept"),
    [
        ("/", 200, "no-cache"),
        ("/queues/team-a", 200, "no-cache"),
        ("/assets/main-1a2b.js", 200, "public, max-age=31536000, immutable"),
        ("/assets/gone.js", 404, None),
    ],
)
async def test_files_are_served_compressed_and_views_are_the_page(
    folder: Path, path: str, status: int, kept: str | None
) -> None:
    async with a_page(folder, FakeClient()) as (client, _):
        answer = await client.get(path, headers={"Accept-Encoding": "gzip"})
        assert answer.status == status
        assert answer.headers.get("Cache-Control") == kept
        assert (answer.headers.get("Content-Encoding") == "gzip") == (status == 200)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("", "part=: name one to 12 parts"),
        ("part=secrets", "part=secrets: there is no such part; there are accuracy, clusterQueues"),
        ("part=pods%3Fsort%3Dx", "sort=x: there is no such column"),
        ("part=pod%3Fnamespace%3Da", "pod=: this part is of one object"),
        ("part=pod%3Fnamespace%3Da%26pod%3D..", "pod=..: this part is of one object"),
        ("part=pods%3Fnamespace%3D..", "namespace=..: must be"),
        ("part=reasons", "clusterQueue=: this part is of one object"),
    ],
)
async def test_an_address_that_means_nothing_is_told(folder: Path, query: str, message: str) -> None:
    async with a_page(folder, FakeClient()) as (client, address):
        answer = await (await entered(client, address)).get(f"/api/live?{query}")
        problem = (await told(answer))["problem"]
        assert (answer.status, problem["kind"]) == (400, "wrongAddress")
        assert problem["message"].startswith(message)


async def test_streams_end_with_the_server(folder: Path) -> None:
    fake = FakeClient().will("GET", *[b'{"items":[]}'] * 99)
    async with a_page(folder, fake) as (client, address):
        answer = await (await entered(client, address)).get("/api/live?part=nodes")
        await answer.content.readuntil(b"event: 0")
        closing = asyncio.get_running_loop().create_task(client.server.close(), name="closing")
        await answer.content.read()
        await asyncio.wait_for(closing, 10)
        assert answer.content.at_eof()


async def test_each_part_is_asked_with_its_own_parameters(folder: Path) -> None:
    fake = FakeClient().will("GET", *[Forbidden(403, "Forbidden", "no")] * 9)
    async with a_page(folder, fake) as (client, address):
        await entered(client, address)
        parts = "part=pod%3Fnamespace%3Da%26pod%3Dx&part=pods%3Fnamespace%3Db"
        async with client.get(f"/api/live?{parts}") as answer:
            await answer.content.readuntil(b"event: 1")
    assert {call.path for call in fake.calls} == {"/api/v1/namespaces/a/pods/x", f"{ROOT}/namespaces/b/queuepods"}


async def test_a_simulation_is_passed_on(folder: Path) -> None:
    fake = FakeClient().will("POST", SIMULATION)
    async with a_page(folder, fake) as (client, address):
        await entered(client, address)
        answer = await client.post("/api/simulations", json={"changes": ["lost:spot"], "hours": 2})
        assert (answer.status, await answer.read()) == (200, SIMULATION)
    (call,) = fake.calls
    assert call.path == f"{ROOT}/simulations"
    assert call.body == {
        "apiVersion": "visibility.penstock.dev/v1alpha1",
        "kind": "Simulation",
        "spec": {"changes": ["lost:spot"], "hours": 2},
    }


@pytest.mark.parametrize(
    ("query", "path", "kind"),
    [
        ("", "/clusterusagereports", "ClusterUsageReport"),
        ("?namespace=team-a", "/namespaces/team-a/usagereports", "UsageReport"),
    ],
)
async def test_usage_is_asked_of_a_namespace_or_of_all(folder: Path, query: str, path: str, kind: str) -> None:
    fake = FakeClient().will("POST", b"{}")
    async with a_page(folder, fake) as (client, address):
        await entered(client, address)
        assert (await client.post(f"/api/usage{query}", json={"per": "day"})).status == 200
    (call,) = fake.calls
    assert (call.path, call.body["kind"], call.body["spec"]) == (f"{ROOT}{path}", kind, {"per": "day"})


async def test_a_simulation_that_is_refused_says_why(folder: Path) -> None:
    fake = FakeClient().will("POST", Invalid(422, "Invalid", "spec.changes[0]: there is no flavor x"))
    async with a_page(folder, fake) as (client, address):
        await entered(client, address)
        answer = await client.post("/api/simulations", json={"changes": ["lost:x"]})
        assert answer.status == 422
        assert "spec.changes[0]: there is no flavor x" in (await told(answer))["problem"]["message"]
        assert (await client.post("/api/simulations", data=b"[1")).status == 400


async def test_a_host_needs_no_port(folder: Path) -> None:
    async with a_page(folder, FakeClient()) as (client, _):
        assert (await client.get("/", headers={"Host": "127.0.0.1"})).status == 200


def asked_now() -> set[str]:
    return {task.get_name() for task in asyncio.all_tasks() if task.get_name().startswith("feed-")}


async def test_who_is_gone_is_noticed_though_nothing_changes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("controller.dashboard.feeds.LINGER", 0.1)
    fake = FakeClient().will("GET", *[b'{"items":[]}'] * 99)
    async with a_page(folder, fake) as (client, address):
        await entered(client, address)
        answer = await client.get("/api/live?part=nodes")
        await answer.content.readuntil(b"event: 0")
        assert asked_now()
        answer.close()
        await eventually(lambda: not asked_now(), message="it is still asked")


class Hanging(FakeClient):
    """An apiserver that takes requests and does not answer, once it was told to."""

    hangs = False

    async def get(self, path: str, params: Mapping[str, str] | None = None, **options: Any) -> bytes:
        if self.hangs:
            await asyncio.Event().wait()
        return await super().get(path, params, **options)


async def test_an_answer_that_does_not_come_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("controller.dashboard.live.LATE", 0.2)
    fake = Hanging()
    fake.will("GET", *[b'{"items":[]}'] * 9)
    async with a_page(folder, fake) as (client, address):
        await entered(client, address)
        async with client.get("/api/live?part=nodes") as answer:
            await answer.content.readuntil(b"event: 0")
            fake.hangs = True
            assert b'"kind":"notAnswering"' in await answer.content.readuntil(b"out of date")


async def test_who_is_signed_out_meanwhile_is_told_so(folder: Path) -> None:
    fake = FakeClient().will("POST", Unauthorized(401, "Unauthorized", "Unauthorized"))
    async with a_page(folder, fake) as (client, address):
        answer = await (await entered(client, address)).get("/api/session")
        assert (answer.status, (await told(answer))["problem"]["kind"]) == (502, "signedOut")


def test_a_page_that_is_not_built_says_how_to(tmp_path: Path) -> None:
    with pytest.raises(NotBuilt, match="make page"):
        Files.read(tmp_path)
