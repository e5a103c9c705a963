"""The queue of a receiver, against a real HTTP server: which answers end a notice, and which let it be tried again."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from email.utils import formatdate
from typing import Any

import pytest

from controller.kube import clock
from controller.kube.backoff import Backoff
from controller.notifications import outbox as tuned
from controller.notifications import posting
from controller.notifications.notices import Kind, Notice, admitted, workload_of
from controller.notifications.outbox import Outbox, Result
from controller.notifications.settings import Receiver as Settings
from tests.support.eventually import eventually
from tests.support.notices import a_receiver, an_admitted_pod
from tests.support.receiving import Receiver, a_server

OF_ALL = [200, 202, 204]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses of hundredths."""
    monkeypatch.setattr(tuned, "BACKOFF", Backoff(first=0.01, longest=0.05))


def notice(number: int = 0) -> Notice:
    pod = an_admitted_pod(f"pod-{number}", owner=None)
    return admitted(workload_of(pod), [pod])


def settings(url: str, **fields: Any) -> Settings:
    return Settings.model_validate(a_receiver(url=url, **fields))


class Told:
    """An outbox that runs, and what became of its notices."""

    def __init__(self, receiver: Settings) -> None:
        self.results: Counter[Result] = Counter()
        self.outbox = Outbox(receiver, None, self._count)

    def _count(self, receiver: str, kind: Kind, result: Result) -> None:
        assert (receiver, kind) == ("hook", Kind.ADMITTED)
        self.results[result] += 1

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Told]:
        async with posting.session() as http, asyncio.TaskGroup() as group:
            task = group.create_task(self.outbox.run(http), name="outbox")
            yield self
            task.cancel()

    async def tell(self, count: int = 1, *, begin: int = 0) -> None:
        for number in range(begin, begin + count):
            self.outbox.put(notice(number))
        async with asyncio.timeout(20):
            await self.outbox.emptied()


@asynccontextmanager
async def telling(receiver: Receiver | None = None, **fields: Any) -> AsyncIterator[tuple[Told, Receiver]]:
    async with a_server(receiver) as server, Told(settings(server.url(), **fields)).running() as told:
        yield told, server


async def test_notices_arrive_in_their_order_with_the_headers() -> None:
    async with telling(Receiver(statuses=OF_ALL), headers={"Authorization": "Bearer abc"}) as (told, server):
        await told.tell(3)
        assert server.ids == [notice(number).id for number in range(3)]
        assert told.results == {Result.SENT: 3}
        headers = server.arrivals[0].headers
        assert headers["Content-Type"] == "application/cloudevents+json; charset=UTF-8"
        assert (headers["Authorization"], headers["User-Agent"]) == ("Bearer abc", "penstock-notifications")


@pytest.mark.parametrize("status", [408, 425, 429, 500, 503])
async def test_what_may_pass_is_tried_again_with_the_same_id(status: int) -> None:
    async with telling(Receiver(statuses=[status, status, 200])) as (told, server):
        await told.tell(2)
        assert server.ids == [notice().id] * 3 + [notice(1).id]
        assert told.results == {Result.SENT: 2}


@pytest.mark.parametrize("status", [301, 307, 400, 401, 404, 410])
async def test_what_is_refused_is_given_up(status: int) -> None:
    elsewhere = {"Location": "/elsewhere"} if status < 400 else {}
    async with telling(Receiver(statuses=[status], headers=elsewhere)) as (told, server):
        await told.tell(2)
        assert [one.path for one in server.arrivals] == ["/hook", "/hook"], "no redirect is followed"
        assert told.results == {Result.FAILED: 1, Result.SENT: 1}


async def test_a_connection_that_breaks_is_tried_again() -> None:
    async with telling(Receiver(breaks=True)) as (told, server):
        told.outbox.put(notice())
        await eventually(lambda: len(server.arrivals) >= 2)
        server.breaks = False
        await told.outbox.emptied()
        assert told.results == {Result.SENT: 1}


async def test_a_receiver_that_is_away_is_told_once_it_is_back() -> None:
    async with a_server() as gone:
        port = gone.port
    async with Told(settings(gone.url())).running() as told:
        told.outbox.put(notice())
        await asyncio.sleep(0.1)
        assert (told.results, len(told.outbox)) == ({}, 1)
        async with a_server(port=port) as server:
            await told.tell(1, begin=1)
            assert server.ids == [notice().id, notice(1).id]


async def test_a_slow_receiver_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(posting, "SECONDS", 0.1)
    async with telling(Receiver(delay=5)) as (told, server):
        told.outbox.put(notice())
        await eventually(lambda: len(server.arrivals) >= 2)
        server.delay = 0
        await told.outbox.emptied()
        assert told.results == {Result.SENT: 1}


async def test_it_waits_as_long_as_the_receiver_asks() -> None:
    async with telling(Receiver(statuses=[429], headers={"Retry-After": "1"})) as (told, _):
        began = clock.monotonic()
        await told.tell()
        assert clock.monotonic() - began >= 1


@pytest.mark.parametrize(("text", "seconds"), [("120", 120), ("", 0), ("soon", 0), ("-5", 0), ("9" * 50, 999_999_999)])
def test_retry_after_may_be_a_number(text: str, seconds: float) -> None:
    assert posting.retry_after(text) == seconds


def test_retry_after_may_be_a_time() -> None:
    assert 80 <= posting.retry_after(formatdate(clock.now() + 90, usegmt=True)) <= 90
    assert posting.retry_after(formatdate(clock.now() - 90, usegmt=True)) == 0


async def test_after_an_hour_of_failures_it_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuned, "GIVE_UP_SECONDS", 0.1)
    async with telling(Receiver(usual=500)) as (told, server):
        await told.tell(2)
        assert told.results == {Result.FAILED: 2}
        assert {notice().id, notice(1).id} == set(server.ids), "each was tried"


async def test_the_oldest_go_where_there_is_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuned, "MOST", 3)
    async with telling(Receiver(usual=503)) as (told, server):
        told.outbox.put(notice())
        await eventually(lambda: server.arrivals)
        for number in range(1, 6):
            told.outbox.put(notice(number))
        assert (told.results, len(told.outbox)) == ({Result.DROPPED: 3}, 3)
        server.usual = 200
        await told.outbox.emptied()
        assert list(dict.fromkeys(server.ids)) == [notice(number).id for number in (0, 4, 5)]


async def test_a_chat_gets_what_waits_in_one_message() -> None:
    async with telling(Receiver(statuses=[503]), format="Slack") as (told, server):
        await told.tell(25)
        lines = [len(one["text"].splitlines()) for one in server.on("/hook")]
        assert (lines, told.results) == ([20, 20, 5], {Result.SENT: 25})


async def test_a_receiver_that_changes_gets_the_rest() -> None:
    async with telling(Receiver(usual=503), format="Slack") as (told, server):
        for number in range(3):
            told.outbox.put(notice(number))
        await eventually(lambda: server.arrivals)
        told.outbox.receiver = settings(server.url("/other"))
        server.usual = 200
        await told.outbox.emptied()
        assert [one["id"] for one in server.on("/other")] == [notice(number).id for number in range(3)]
        assert told.results == {Result.SENT: 3}


@pytest.mark.parametrize("url", ["http://a..b/s3cret", "http://127.0.0.1:1/s3cret", f"http://{'x' * 70}.b/s3cret"])
async def test_no_text_about_a_failure_has_the_url(url: str) -> None:
    async with posting.session() as http:
        answer = await posting.post(http, settings(url), b"{}")
    assert isinstance(answer, posting.Later)
    assert answer.why
    assert "s3cret" not in answer.why


async def test_a_proxy_of_the_environment_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    async with a_server() as proxy, posting.session() as http:
        monkeypatch.setenv("HTTPS_PROXY", proxy.url("/s3cret"))
        monkeypatch.setenv("NO_PROXY", "")
        answer = await posting.post(http, settings("https://hooks.example.com/s3cret"), b"{}")
    assert answer == posting.Later("the proxy answers 404"), "our server is none"


async def test_what_a_receiver_says_is_told_in_short() -> None:
    async with a_server(Receiver(usual=404)) as server, posting.session() as http:
        assert await posting.post(http, settings(server.url()), b"{}") == posting.Refused("404: no such channel")


async def test_what_is_given_up_when_a_receiver_is_removed_counts() -> None:
    async with telling(Receiver(usual=503)) as (told, server):
        for number in range(3):
            told.outbox.put(notice(number))
        await eventually(lambda: server.arrivals)
        told.outbox.drop()
        assert (told.results, len(told.outbox)) == ({Result.WITHDRAWN: 3}, 0)
