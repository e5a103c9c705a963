from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from controller.extension_api.pacing import SLICE_SECONDS, Turns
from controller.extension_api.queueing.shared import SECONDS, Shared
from tests.support.fake_time import FakeTime


def work(time: FakeTime, count: int, seconds: float) -> Iterator[int]:
    """Pieces that take so long each."""
    for number in range(count):
        time.now += seconds
        yield number


async def test_after_each_slice_there_is_a_pause_as_long(time: FakeTime) -> None:
    assert await Turns().through(work(time, 10, SLICE_SECONDS * 0.6)) == list(range(10))
    assert len(time.slept) == 5
    assert sum(time.slept) == pytest.approx(10 * SLICE_SECONDS * 0.6, rel=0.01)


async def test_short_pieces_of_several_make_up_a_slice(time: FakeTime) -> None:
    turns = Turns()
    for _ in range(8):
        await turns.through(work(time, 1, SLICE_SECONDS * 0.3))
    assert len(time.slept) == 2


async def test_slices_of_several_never_meet(time: FakeTime) -> None:
    turns, running = Turns(), 0

    async def answer() -> None:
        nonlocal running
        for _ in range(5):
            async with turns.one():
                running += 1
                assert running == 1
                time.now += SLICE_SECONDS
                running -= 1

    await asyncio.gather(*(answer() for _ in range(4)))
    assert len(time.slept) == 20


async def test_others_have_their_turn_between_slices() -> None:
    """On the real loop, whose clock has a resolution of a millisecond."""
    seen = 0

    async def other() -> None:
        nonlocal seen
        while True:
            seen += 1
            await asyncio.sleep(0)

    async with asyncio.TaskGroup() as group:
        task = group.create_task(other())
        await Turns().through(sum(range(2_000)) for _ in range(1_000))
        task.cancel()
    assert seen > 5


async def test_what_is_shared_is_worked_out_once(time: FakeTime) -> None:
    made: list[str] = []

    async def make(key: str) -> int:
        made.append(key)
        await asyncio.sleep(0)
        return len(made)

    shared = Shared(make)
    assert list(await asyncio.gather(shared.get("a"), shared.get("a"), shared.get("b"))) == [1, 1, 2]
    time.now += SECONDS
    assert await shared.get("a") == 3
    assert made == ["a", "b", "a"]


async def test_what_was_asked_for_longest_ago_is_dropped(time: FakeTime) -> None:
    made: list[str] = []

    async def make(key: str) -> str:
        made.append(key)
        return key

    shared = Shared(make)
    for number in range(65):
        await shared.get(str(number))
    await shared.get("64")
    await shared.get("0")
    assert made[-2:] == ["64", "0"]
