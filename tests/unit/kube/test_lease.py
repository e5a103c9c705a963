"""How the Lease is kept and taken when answers are slow, or the program itself was."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from controller.kube.errors import Conflict, NotFound, Unreachable
from controller.kube.lease import Election, Elector, LeadershipLost
from tests.support.fake_client import FakeClient
from tests.support.fake_time import FakeTime, turns
from tests.support.pod_documents import raw

ELECTION = Election(namespace="ns", name="it", identity="me", seconds=15)
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


@pytest.fixture
async def leader(elector: Elector, client: FakeClient, time: FakeTime) -> Elector:
    """It has just taken the Lease."""
    client.will("GET", lease("")).will("PUT", lease())
    await elector.acquire()
    client.calls.clear()
    return elector


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


async def test_it_is_renewed_every_two_seconds_until_it_is_lost(
    leader: Elector, client: FakeClient, time: FakeTime
) -> None:
    client.will("PUT", lease(), lease(), TAKEN).will("GET", lease("you"))
    assert await lost(leader) == "the Lease it is held by you now"
    assert time.slept == [2, 2, 2]


async def test_who_leads_says_of_itself_what_is_true_now(client: FakeClient, time: FakeTime) -> None:
    said = {"it": "well"}
    elector = Elector(client.as_client, ELECTION, report=print, annotations=lambda: said)
    client.will("GET", lease(""), lease("you")).will("PUT", lease(), TAKEN)
    await elector.acquire()
    said = {"it": "ill"}
    await lost(elector)
    assert [call.body["metadata"]["annotations"] for call in client.made("PUT")] == [{"it": "well"}, {"it": "ill"}]


async def test_who_cannot_renew_for_ten_seconds_stops(leader: Elector, client: FakeClient, time: FakeTime) -> None:
    began = time.now
    client.will("PUT", *[after(time, 3, NO_ANSWER)] * 2, after(time, 1, NO_ANSWER))
    assert await lost(leader) == "the Lease it could not be renewed: no answer in time"
    assert time.now - began == ELECTION.renew_deadline


async def test_after_a_try_that_failed_the_next_one_follows_at_once(
    leader: Elector, client: FakeClient, time: FakeTime
) -> None:
    client.will("PUT", after(time, 5, NO_ANSWER), after(time, 1.5, lease()), TAKEN).will("GET", lease("you"))
    assert "held by you" in await lost(leader)
    assert time.slept == [2, 0.5, 2]


async def test_a_renewal_counts_from_when_it_was_sent(leader: Elector, client: FakeClient, time: FakeTime) -> None:
    began = time.now
    client.will("PUT", after(time, 4.9, lease()), *[after(time, 1, NO_ANSWER)] * 4)
    await lost(leader)
    # it was sent after 2 seconds; the last try takes one more
    assert time.now - began < 2 + ELECTION.renew_deadline + 1


async def test_who_was_held_up_until_the_time_was_over_gets_a_try(
    leader: Elector, client: FakeClient, time: FakeTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    be_held_up_once(time, 12, monkeypatch)
    client.will("PUT", lease(), TAKEN).will("GET", lease("you"))
    assert "held by you" in await lost(leader)
    assert len(client.made("PUT")) == 2


async def test_who_was_held_up_and_is_not_answered_either_says_so(
    leader: Elector, client: FakeClient, time: FakeTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    be_held_up_once(time, 12, monkeypatch)
    client.will("PUT", *[NO_ANSWER] * 4)
    said = "the Lease it could not be renewed: no answer in time; this process was held up for 12 s before"
    assert await lost(leader) == said


async def test_one_held_up_beyond_the_lease_gets_one_short_try(
    leader: Elector, client: FakeClient, time: FakeTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    be_held_up_once(time, 20, monkeypatch)
    client.will("PUT", *[NO_ANSWER] * 4)
    assert "held up for 20 s" in await lost(leader)
    assert len(client.made("PUT")) == 1


async def test_that_try_may_be_answered(
    leader: Elector, client: FakeClient, time: FakeTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    be_held_up_once(time, 20, monkeypatch)
    let_answers_take_a_turn(client, monkeypatch)
    client.will("PUT", lease(), TAKEN).will("GET", lease("you"))
    assert "held by you" in await lost(leader)


async def test_who_was_held_up_while_the_answer_came_gets_another_try(
    leader: Elector, client: FakeClient, time: FakeTime
) -> None:
    client.will("PUT", after(time, 12, NO_ANSWER), lease(), TAKEN).will("GET", lease("you"))
    assert "held by you" in await lost(leader)


async def test_who_was_held_up_between_two_tries_gets_another(
    leader: Elector, client: FakeClient, time: FakeTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    be_held_up_once(time, 9, monkeypatch, at=2)
    let_answers_take_a_turn(client, monkeypatch)
    client.will("PUT", NO_ANSWER, lease(), TAKEN).will("GET", lease("you"))
    assert "held by you" in await lost(leader)


async def test_one_held_up_between_tries_and_unanswered_says_so(
    leader: Elector, client: FakeClient, time: FakeTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    be_held_up_once(time, 9, monkeypatch, at=2)
    client.will("PUT", *[NO_ANSWER] * 9)
    assert "held up for 9 s before" in await lost(leader)


async def test_a_try_lasts_for_its_patience_within_the_deadline(
    leader: Elector, client: FakeClient, time: FakeTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, timeout = list[float](), asyncio.timeout

    def asking(seconds: float) -> asyncio.Timeout:
        asked.append(seconds)
        return timeout(seconds)

    monkeypatch.setattr("asyncio.timeout", asking)
    client.will("PUT", after(time, 5, NO_ANSWER), after(time, 2.5, NO_ANSWER))
    await lost(leader)
    assert asked == [5, 2.5]


@pytest.mark.parametrize("is_new", [False, True])
async def test_a_term_begins_when_the_lease_was_asked_for(
    elector: Elector, client: FakeClient, time: FakeTime, monkeypatch: pytest.MonkeyPatch, *, is_new: bool
) -> None:
    found = NotFound(404, "NotFound", "there is none") if is_new else lease("")
    client.will("GET", found).will("POST" if is_new else "PUT", after(time, 4.9, lease()))
    client.will("PUT", *[NO_ANSWER] * 20)
    began = time.now
    await elector.acquire()
    be_held_up_once(time, 7, monkeypatch)
    await lost(elector)
    assert ELECTION.seconds - 1 <= time.now - began <= ELECTION.seconds


async def test_one_held_up_tries_no_longer_than_the_lease(
    leader: Elector, client: FakeClient, time: FakeTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    began = time.now
    be_held_up_once(time, 12, monkeypatch)
    client.will("PUT", *[NO_ANSWER] * 9)
    await lost(leader)
    assert time.now - began <= ELECTION.seconds


async def test_a_lease_that_is_still_ours_is_written_once_more(
    leader: Elector, client: FakeClient, time: FakeTime
) -> None:
    client.will("PUT", TAKEN, lease(version="3"), TAKEN).will("GET", lease(version="2"), lease("you"))
    assert "held by you" in await lost(leader)
    first, again, _ = client.made("PUT")
    assert [one.body["metadata"]["resourceVersion"] for one in (first, again)] == ["1", "2"]
    assert time.slept == [2, 2]


async def test_a_read_is_no_renewal(leader: Elector, client: FakeClient, time: FakeTime) -> None:
    began = time.now
    client.will("PUT", *[after(time, 1, TAKEN)] * 30).will("GET", *[lease()] * 30)
    assert "somebody wrote it" in await lost(leader)
    assert time.now - began <= 2 + ELECTION.seconds


def be_held_up_once(time: FakeTime, seconds: float, monkeypatch: pytest.MonkeyPatch, *, at: int = 1) -> None:
    """Let the loop come back so much later from its first sleep, or another."""
    left = [0.0] * (at - 1) + [seconds]

    async def sleep(asked: float) -> None:
        await time.sleep(asked)
        time.now += left.pop(0) if left else 0

    monkeypatch.setattr("asyncio.sleep", sleep)


def let_answers_take_a_turn(client: FakeClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a try whose time is over already would be cancelled."""
    answer = client.put

    async def put(path: str, body: object, **options: Any) -> bytes:
        await turns(1)
        return await answer(path, body, **options)

    monkeypatch.setattr(client, "put", put)


async def test_one_that_hears_nothing_does_not_wait_longer(
    elector: Elector, client: FakeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def put(*_: Any, **__: Any) -> bytes:
        await asyncio.Event().wait()
        return b""

    monkeypatch.setattr(client, "put", put)
    quick = Elector(client.as_client, Election(namespace="ns", name="it", identity="me", seconds=0), report=print)
    assert await lost(quick) == "the Lease it could not be renewed: no answer in time"


async def test_giving_up_after_an_unanswered_renewal_gives_all_up(leader: Elector, client: FakeClient) -> None:
    client.will("PUT", TAKEN, lease("")).will("GET", lease(version="2"))
    await leader.release()
    *_, last = client.made("PUT")
    assert (last.body["metadata"]["resourceVersion"], last.body["spec"]["holderIdentity"]) == ("2", "")


async def test_what_somebody_else_holds_is_not_given_up(leader: Elector, client: FakeClient) -> None:
    client.will("PUT", TAKEN).will("GET", lease("you"))
    await leader.release()
    assert len(client.made("PUT")) == 1


async def test_a_deleted_lease_is_lost(leader: Elector, client: FakeClient, time: FakeTime) -> None:
    client.will("PUT", NotFound(404, "NotFound", "it is gone"))
    assert await lost(leader) == "the Lease it was deleted: somebody else may lead now"


async def test_a_lease_that_is_not_there_may_have_been_deleted(elector: Elector, client: FakeClient) -> None:
    client.will("GET", NotFound(404, "NotFound", "no such Lease")).will("POST", lease())
    assert await elector.acquire() is True


async def test_a_lease_that_was_given_up_leaves_nothing(elector: Elector, client: FakeClient) -> None:
    client.will("GET", lease("")).will("PUT", lease())
    assert await elector.acquire() is False


async def test_writes_wait_until_the_lease_is_renewed(leader: Elector, client: FakeClient, time: FakeTime) -> None:
    held = list[float]()

    async def write() -> None:
        await leader.held()
        held.append(time.now)

    await write()
    began = time.now
    time.now += ELECTION.renew_deadline
    client.will("PUT", lease(), TAKEN).will("GET", lease("you"))
    async with asyncio.TaskGroup() as group:
        group.create_task(write(), name="write")
        await turns()
        assert held == [began]
        await lost(leader)
    assert held[1] > began + ELECTION.renew_deadline
