"""How a watch is read, and whose faults are told as the network's."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from controller.kube import client
from controller.kube.client import Client
from controller.kube.connection import Connection
from controller.kube.errors import Gone, Silent, TooLarge, TooManyRequests, Unreachable

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


async def take(answer: Answer, taker: Callable[[bytes], None] = lambda _: None, *, silent_seconds: float = 5.0) -> None:
    """Hand what arrives of one watch to `taker`."""
    app = web.Application()
    app.router.add_get("/watch", answer)
    async with (
        TestServer(app) as server,
        Client(Connection(host=str(server.make_url(""))), user_agent="tests") as asked,
        asked.stream("/watch", {}, silent_seconds=silent_seconds) as chunks,
    ):
        async for chunk in chunks:
            taker(chunk)


async def two_lines(request: web.Request) -> web.StreamResponse:
    answer = web.StreamResponse()
    await answer.prepare(request)
    await answer.write(b"one\n")
    await answer.write(b"two\n")
    return answer


async def busy(_: web.Request) -> web.Response:
    return web.Response(status=429, headers={"Retry-After": "7"})


async def a_line_and_no_end(request: web.Request) -> web.StreamResponse:
    answer = web.StreamResponse()
    await answer.prepare(request)
    await answer.write(b"one\n")
    assert request.transport is not None
    request.transport.abort()
    return answer


async def an_answer_and_then_nothing(request: web.Request) -> web.StreamResponse:
    answer = web.StreamResponse()
    await answer.prepare(request)
    await asyncio.Event().wait()
    return answer


async def no_answer(_: web.Request) -> web.StreamResponse:
    await asyncio.Event().wait()
    return web.StreamResponse()


async def expired(_: web.Request) -> web.StreamResponse:
    return web.json_response({"kind": "Status", "reason": "Expired", "message": "too old"}, status=410)


async def test_a_watch_gives_what_arrives_until_the_server_ends_it() -> None:
    arrived: list[bytes] = []
    await take(two_lines, arrived.append)
    assert b"".join(arrived) == b"one\ntwo\n"


@pytest.mark.parametrize("fault", [ValueError("no such year"), OSError("no such file"), TimeoutError()])
async def test_a_fault_of_the_taker_is_not_told_as_the_networks(fault: Exception) -> None:
    def fail(_: bytes) -> None:
        raise fault

    with pytest.raises(type(fault)) as raised:
        await take(two_lines, fail)
    assert raised.value is fault


async def test_a_connection_that_breaks_is_told_as_unreachable() -> None:
    with pytest.raises(Unreachable):
        await take(a_line_and_no_end)


async def test_a_watch_that_is_refused_says_what_the_apiserver_said() -> None:
    with pytest.raises(Gone, match="too old"):
        await take(expired)


async def test_a_busy_apiserver_says_when_to_open_a_watch() -> None:
    with pytest.raises(TooManyRequests) as refused:
        await take(busy)
    assert refused.value.retry_after_seconds == 7.0


async def test_silence_is_told_apart_from_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Silent, match="nothing came in time"):
        await take(an_answer_and_then_nothing, silent_seconds=0.05)
    monkeypatch.setattr(client, "REQUEST_SECONDS", 0.05)
    async with asyncio.timeout(30):
        with pytest.raises(Unreachable, match="no answer in time"):
            await take(no_answer, silent_seconds=3600)


async def test_the_rest_of_too_long_an_answer_is_not_waited_for() -> None:
    async def without_end(request: web.Request) -> web.StreamResponse:
        answer = web.StreamResponse()
        await answer.prepare(request)
        while True:
            await answer.write(b"x" * 1000)

    async def ten(_: web.Request) -> web.Response:
        return web.Response(body=b"x" * 10)

    app = web.Application()
    app.router.add_get("/without-end", without_end)
    app.router.add_get("/ten", ten)
    async with (
        TestServer(app) as server,
        Client(Connection(host=str(server.make_url(""))), user_agent="tests") as asked,
    ):
        with pytest.raises(TooLarge, match="/without-end: the answer is longer than 5000 bytes"):
            await asked.get("/without-end", most_bytes=5000)
        assert await asked.get("/ten", most_bytes=10) == b"x" * 10
        with pytest.raises(TooLarge):
            await asked.get("/ten", most_bytes=9)
