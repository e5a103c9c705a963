"""Answers that are kept current: asked once for all who look, and no longer than somebody does."""

from __future__ import annotations

import asyncio

import pytest

from controller.dashboard.feeds import LINGER, PAUSE, Feed, Feeds, Question
from controller.dashboard.problems import Problem
from controller.dashboard.viewers import Viewer
from controller.kube.errors import Unreachable
from tests.support.fake_client import FakeClient
from tests.support.fake_time import FakeTime


def question(path: str = "/queues") -> Question:
    return Question("queues", path, int)


def problem_of(feed: Feed) -> Problem | None:
    return feed.problem


async def versions(feeds: Feeds, feed: Feed, version: int) -> None:
    while feed.version < version:
        await feeds.news.wait()


async def test_two_who_look_with_one_identity_ask_once(time: FakeTime) -> None:
    fake = FakeClient().will("GET", *(b"%d" % number for number in range(50)))
    viewer = Viewer("k", fake.as_client)
    async with Feeds() as feeds, feeds.listen(viewer, question()) as one, feeds.listen(viewer, question()) as other:
        await versions(feeds, one, 3)
        assert one is other
        assert one.answer == len(fake.calls) - 1


async def test_other_identities_ask_for_themselves(time: FakeTime) -> None:
    fakes = [FakeClient().will("GET", *[b"1"] * 50) for _ in range(2)]
    first, second = (Viewer(str(number), fake.as_client) for number, fake in enumerate(fakes))
    async with Feeds() as feeds, feeds.listen(first, question()) as one, feeds.listen(second, question()) as other:
        await versions(feeds, one, 1)
        await versions(feeds, other, 1)
        assert one is not other
    assert all(fake.calls for fake in fakes)


async def test_a_fault_is_kept_with_the_answer_before_it(time: FakeTime) -> None:
    fake = FakeClient().will("GET", b"7", Unreachable("no answer"), b"seven", *[b"8"] * 50)
    async with Feeds() as feeds, feeds.listen(Viewer("k", fake.as_client), question()) as feed:
        await versions(feeds, feed, 2)
        assert feed.answer == 7
        assert feed.problem is not None
        assert feed.problem.kind == "unreachable"
        await versions(feeds, feed, 3)
        assert feed.problem.kind == "otherVersion"
        await versions(feeds, feed, 4)
        assert (feed.answer, problem_of(feed)) == (8, None)


async def test_the_pause_is_as_long_as_the_answer_took(time: FakeTime) -> None:
    def slowly() -> bytes:
        time.now += 5.0
        return b"1"

    fake = FakeClient().will("GET", slowly, *[b"2"] * 50)
    async with Feeds() as feeds, feeds.listen(Viewer("k", fake.as_client), question()) as feed:
        await versions(feeds, feed, 2)
    assert time.slept[:2] == [5.0, PAUSE]


async def test_it_is_asked_a_moment_longer_than_somebody_looks(time: FakeTime) -> None:
    fake = FakeClient().will("GET", *[b"1"] * 500)
    async with Feeds() as feeds:
        async with feeds.listen(Viewer("k", fake.as_client), question()) as feed:
            await versions(feeds, feed, 1)
        for _ in range(int(LINGER / PAUSE) + 5):
            await asyncio.sleep(PAUSE)
        asked = len(fake.calls)
        await asyncio.sleep(PAUSE)
        assert len(fake.calls) == asked
        async with feeds.listen(Viewer("k", fake.as_client), question()) as again:
            await versions(feeds, again, 1)
            assert again is not feed


@pytest.mark.parametrize("body", [b"x", b""])
async def test_an_answer_that_cannot_be_read_says_where(time: FakeTime, body: bytes) -> None:
    fake = FakeClient().will("GET", *[body] * 50)
    async with Feeds() as feeds, feeds.listen(Viewer("k", fake.as_client), question("/here")) as feed:
        await versions(feeds, feed, 1)
        assert feed.problem is not None
        assert feed.problem.message.startswith("/here: ")
