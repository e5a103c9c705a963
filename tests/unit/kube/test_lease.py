"""How the Lease is kept and taken when answers are slow, or the program itself was."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from controller.kube.errors import Conflict, NotFound, Unreachable
from controller.kube.lease import Election, Elector, LeadershipLost
from tests.support.fake_client import FakeClient
from tests.support.fake_time import FakeTime
from tests.support.pod_documents import raw

ELECTION = Election(namespace="ns", name="it", identity="me")
TAKEN = Conflict(409, "Conflict", "somebody wrote it")
NO_ANSWER = Unreachable("no answer in time")


def lease(holder: str = "me", version: str = "1") -> bytes:
    return raw({"metadata": {"name": "it", "resourceVersion": version}, "spec": {"holderIdentity": holder}})


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> FakeTime:
    return FakeTime().install(monkeypatch)


@pytest.fixture
def client() -> FakeClient:
    return FakeClient()


@pytest.fixture
def elector(client: FakeClient) -> Elector:
    return Elector(client.as_client, ELECTION, report=lambda _: None)


def after(time: FakeTime, seconds: float, outcome: bytes | Exception) -> Callable[[], bytes]:
    """An outcome that is so long in coming."""

    def come() -> bytes:
        time.now += seconds
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    return come


async def lost(elector: Elector) -> str:
    """Keep the Lease until it is lost; return what is said of that."""
    with pytest.raises(LeadershipLost) as told:
        await elector.keep()
    return str(told.value)


async def test_it_is_renewed_every_two_seconds_until_somebody_else_holds_it(
    elector: Elector, client: FakeClient, time: FakeTime
) -> None:
    client.will("PUT", lease(), lease(), TAKEN).will("GET", lease("you"))
    assert await lost(elector) == "the Lease it is held by you now"
    assert time.slept == [2, 2, 2]


async def test_who_cannot_renew_for_ten_seconds_stops(elector: Elector, client: FakeClient, time: FakeTime) -> None:
    began = time.now
    client.will("PUT", *[after(time, 3, NO_ANSWER)] * 3)
    assert await lost(elector) == "the Lease it could not be renewed: no answer in time"
    assert 9 < time.now - began <= 12


async def test_after_a_try_that_failed_the_next_one_follows_at_once(
    elector: Elector, client: FakeClient, time: FakeTime
) -> None:
    client.will("PUT", after(time, 5, NO_ANSWER), after(time, 1.5, lease()), TAKEN).will("GET", lease("you"))
    assert "held by you" in await lost(elector)
    assert time.slept == [2, 0.5, 2]


async def test_a_renewal_counts_from_when_it_was_sent(elector: Elector, client: FakeClient, time: FakeTime) -> None:
    began = time.now
    client.will("PUT", after(time, 4.9, lease()), *[after(time, 1, NO_ANSWER)] * 4)
    await lost(elector)
    # it was sent after 2 seconds; the last try takes one more
    assert time.now - began < 2 + ELECTION.renew_deadline + 1


async def test_who_was_held_up_until_the_time_was_over_gets_a_try(
    elector: Elector, client: FakeClient, time: FakeTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    be_held_up_once(time, 12, monkeypatch)
    client.will("PUT", lease(), TAKEN).will("GET", lease("you"))
    assert "held by you" in await lost(elector)
    assert len(client.made("PUT")) == 2


async def test_who_was_held_up_and_is_not_answered_either_says_so(
    elector: Elector, client: FakeClient, time: FakeTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    be_held_up_once(time, 12, monkeypatch)
    client.will("PUT", *[NO_ANSWER] * 4)
    said = "the Lease it could not be renewed: no answer in time; this process was held up for 12 s before"
    assert await lost(elector) == said


async def test_who_was_held_up_for_longer_than_the_lease_gets_one_short_try(
    elector: Elector, client: FakeClient, time: FakeTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    be_held_up_once(time, 20, monkeypatch)
    client.will("PUT", *[NO_ANSWER] * 4)
    assert "held up for 20 s" in await lost(elector)
    assert len(client.made("PUT")) == 1


async def test_who_was_held_up_until_shortly_before_the_lease_ends_tries_no_longer_than_that(
    elector: Elector, client: FakeClient, time: FakeTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    began = time.now
    be_held_up_once(time, 12, monkeypatch)
    client.will("PUT", *[NO_ANSWER] * 9)
    await lost(elector)
    assert time.now - began <= ELECTION.seconds


async def test_what_was_written_by_somebody_and_is_still_ours_is_written_once_more(
    elector: Elector, client: FakeClient, time: FakeTime
) -> None:
    client.will("PUT", TAKEN, lease(version="3"), TAKEN).will("GET", lease(version="2"), lease("you"))
    assert "held by you" in await lost(elector)
    first, again, _ = client.made("PUT")
    assert again.body["metadata"]["resourceVersion"] == "2"
    assert first.body["metadata"]["resourceVersion"] == ""
    assert time.slept == [2, 2]


async def test_a_read_is_no_renewal(elector: Elector, client: FakeClient, time: FakeTime) -> None:
    began = time.now
    client.will("PUT", *[after(time, 1, TAKEN)] * 30).will("GET", *[lease()] * 30)
    assert "somebody wrote it" in await lost(elector)
    assert time.now - began <= 2 + ELECTION.seconds


def be_held_up_once(time: FakeTime, seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    left = [seconds]

    async def sleep(asked: float) -> None:
        await time.sleep(asked)
        time.now += left.pop() if left else 0

    monkeypatch.setattr("asyncio.sleep", sleep)


async def test_who_hears_nothing_at_all_does_not_wait_longer_than_that(
    elector: Elector, client: FakeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def put(*_: Any, **__: Any) -> bytes:
        await asyncio.Event().wait()
        return b""

    monkeypatch.setattr(client, "put", put)
    quick = Elector(client.as_client, Election(namespace="ns", name="it", identity="me", seconds=0), report=print)
    assert await lost(quick) == "the Lease it could not be renewed: no answer in time"


async def test_a_deleted_lease_is_lost(elector: Elector, client: FakeClient, time: FakeTime) -> None:
    client.will("PUT", NotFound(404, "NotFound", "it is gone"))
    assert await lost(elector) == "the Lease it was deleted: somebody else may lead now"


async def test_who_makes_the_lease_anew_takes_over_from_whom_it_knew(
    elector: Elector, client: FakeClient, time: FakeTime
) -> None:
    gone = NotFound(404, "NotFound", "no such Lease")
    client.will("GET", lease("you"), gone).will("POST", lease())
    assert await elector.acquire() is True


async def test_who_makes_the_first_lease_takes_over_from_nobody(elector: Elector, client: FakeClient) -> None:
    client.will("GET", NotFound(404, "NotFound", "no such Lease")).will("POST", lease())
    assert await elector.acquire() is False
