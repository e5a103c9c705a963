"""The page in a cluster: who is let in by which token, and what becomes of it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from controller.dashboard.token_viewers import COOKIE, MOST_VIEWERS, TokenViewers
from controller.kube.client import Client
from controller.kube.errors import KubeError, Unauthorized, Unreachable

Page = TestClient[Any, Any]


class Apiserver:
    """Takes tokens that begin with `good`; `asked` are the tokens by which it was asked who they are."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.fault: KubeError | None = None

    def on_behalf(self, authorization: Callable[[], Awaitable[str]]) -> _As:
        return _As(self, authorization)


class _As:
    def __init__(self, apiserver: Apiserver, authorization: Callable[[], Awaitable[str]]) -> None:
        self._apiserver = apiserver
        self.authorization = authorization

    async def post(self, path: str, body: object) -> bytes:
        token = (await self.authorization()).removeprefix("Bearer ")
        self._apiserver.asked.append(token)
        if self._apiserver.fault is not None:
            raise self._apiserver.fault
        if not token.startswith("good"):
            raise Unauthorized(401, "Unauthorized", "Unauthorized")
        return b"{}"


@asynccontextmanager
async def a_page(apiserver: Apiserver) -> AsyncIterator[Page]:
    """A page that says by which credentials it would ask for whoever sends a request."""
    viewers = TokenViewers(cast("Client", apiserver))

    async def who(request: web.Request) -> web.Response:
        viewer = await viewers.of(request)
        return web.Response(text="nobody" if viewer is None else await cast("_As", viewer.client).authorization())

    app = web.Application()
    app.router.add_routes([*viewers.routes(), web.get("/who", who)])
    async with TestClient(TestServer(app)) as client:
        yield client


async def who(page: Page, **headers: str) -> str:
    return await (await page.get("/who", headers=headers)).text()


async def test_a_token_becomes_a_cookie_that_no_script_reads() -> None:
    async with a_page(Apiserver()) as page:
        answer = await page.post("/api/sign-in", json={"token": " good\n"})
        assert answer.status == 204
        (cookie,) = answer.headers.getall("Set-Cookie")
        for part in (f"{COOKIE}=good;", "HttpOnly", "Secure", "SameSite=Strict", "Path=/"):
            assert part in cookie
        assert await who(page, Cookie=f"{COOKIE}=good") == "Bearer good"


async def test_signing_out_ends_the_cookie() -> None:
    async with a_page(Apiserver()) as page:
        answer = await page.post("/api/sign-out")
        (cookie,) = answer.headers.getall("Set-Cookie")
        assert f'{COOKIE}=""' in cookie
        assert "Max-Age=0" in cookie


@pytest.mark.parametrize(
    ("body", "status", "told"),
    [
        ({"token": "bad"}, 401, "does not accept this token"),
        ({"token": " "}, 400, "no token"),
        ({"token": 7}, 400, "no token"),
        ({"token": "gööd"}, 400, "characters that no header may have"),
        ({"token": "good\x001"}, 400, "characters that no header may have"),
        ({"token": "good" * 1000}, 400, "too long for a cookie"),
    ],
)
async def test_what_is_no_token_is_refused(body: object, status: int, told: str) -> None:
    async with a_page(Apiserver()) as page:
        answer = await page.post("/api/sign-in", json=body)
        assert answer.status == status
        assert "Set-Cookie" not in answer.headers
        assert told in (await answer.json())["problem"]["message"]


async def test_who_sends_no_token_or_a_wrong_one_is_nobody() -> None:
    async with a_page(Apiserver()) as page:
        assert await who(page) == "nobody"
        assert await who(page, Authorization="Bearer bad") == "nobody"
        assert await who(page, Authorization="Basic good") == "nobody"


async def test_what_no_header_may_have_is_no_token() -> None:
    apiserver = Apiserver()
    async with a_page(apiserver) as page:
        assert await who(page, Cookie=f'{COOKIE}="good\\015\\012X-Evil: 1"') == "nobody"
    assert apiserver.asked == []


async def test_a_token_that_is_revoked_is_forgotten() -> None:
    apiserver = Apiserver()
    viewers = TokenViewers(cast("Client", apiserver))
    app = web.Application()

    async def revoke(request: web.Request) -> web.Response:
        viewer = await viewers.of(request)
        assert viewer is not None
        return web.Response(text=str(viewers.forget(viewer)))

    app.router.add_get("/revoke", revoke)
    async with TestClient(TestServer(app)) as client:
        for _ in range(2):
            answer = await client.get("/revoke", headers={"Authorization": "Bearer good"})
            assert await answer.text() == "True"
    assert apiserver.asked == ["good", "good"]


async def test_a_proxy_may_send_the_token() -> None:
    async with a_page(Apiserver()) as page:
        assert await who(page, Authorization="Bearer good-1", Cookie=f"{COOKIE}=good-2") == "Bearer good-1"


async def test_the_apiserver_is_asked_once_whose_a_token_is() -> None:
    apiserver = Apiserver()
    async with a_page(apiserver) as page:
        for token in ("good-1", "good-1", "good-2", "good-1"):
            assert await who(page, Authorization=f"Bearer {token}") == f"Bearer {token}"
    assert apiserver.asked == ["good-1", "good-2"]


async def test_of_many_the_first_is_forgotten() -> None:
    apiserver = Apiserver()
    async with a_page(apiserver) as page:
        for number in range(MOST_VIEWERS + 1):
            await who(page, Authorization=f"Bearer good-{number}")
        apiserver.asked.clear()
        for number in (MOST_VIEWERS, 0):
            await who(page, Authorization=f"Bearer good-{number}")
    assert apiserver.asked == ["good-0"]


async def test_an_apiserver_that_is_away_refuses_nobody_for_good() -> None:
    apiserver = Apiserver()
    apiserver.fault = Unreachable("https://c: no connection")
    async with a_page(apiserver) as page:
        answer = await page.post("/api/sign-in", json={"token": "good"})
        assert (answer.status, (await answer.json())["problem"]["message"]) == (502, "https://c: no connection")
        apiserver.fault = None
        assert (await page.post("/api/sign-in", json={"token": "good"})).status == 204
