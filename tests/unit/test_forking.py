"""Work in a copy of the process: its answer comes back, nothing else does, and its bounds hold."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable
from itertools import pairwise

import psutil
import pytest

from controller.forking import ForkError, Forks
from tests.support.eventually import eventually

SECONDS = 60.0
CPU = 30


async def in_a_copy(work: Callable[[], bytes], *, seconds: float = SECONDS, cpu_seconds: int = CPU) -> bytes:
    return await Forks(1).run(work, seconds=seconds, cpu_seconds=cpu_seconds)


def forever() -> bytes:
    while True:
        pass


async def test_it_knows_what_the_process_knows_and_changes_nothing() -> None:
    known = {"pods": 1}

    def work() -> bytes:
        known["pods"] += 1
        return f"{known['pods']} in {os.getpid()}".encode()

    count, _, process = (await in_a_copy(work)).decode().partition(" in ")
    assert count == "2"
    assert int(process) != os.getpid()
    assert known == {"pods": 1}


async def test_a_long_answer_comes_whole() -> None:
    long = bytes(range(256)) * 10_000
    assert await in_a_copy(lambda: long) == long


async def test_what_the_work_raises_is_told() -> None:
    def work() -> bytes:
        raise ValueError("no such queue")

    with pytest.raises(ForkError, match="ValueError: no such queue"):
        await in_a_copy(work)


async def test_it_gives_way_to_others_and_takes_signals_itself() -> None:
    def work() -> bytes:
        return f"{os.nice(0)} {signal.getsignal(signal.SIGTERM) == signal.SIG_DFL}".encode()

    told = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, told.set)
    try:
        assert await in_a_copy(work) == f"{min(19, os.nice(0) + 10)} True".encode()
    finally:
        asyncio.get_running_loop().remove_signal_handler(signal.SIGTERM)


async def test_time_and_cpu_time_are_bounded() -> None:
    before = await asyncio.to_thread(children)
    with pytest.raises(ForkError, match=r"longer than 0\.2 s"):
        await in_a_copy(forever, seconds=0.2)
    with pytest.raises(ForkError, match="1 s of CPU time were used up"):
        await in_a_copy(forever, cpu_seconds=1)
    await none_is_left(before)


async def test_whoever_cancels_ends_it() -> None:
    before = await asyncio.to_thread(children)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.3):
            await in_a_copy(forever)
    await none_is_left(before)


async def none_is_left(before: set[int]) -> None:
    """Wait until there are no more children than those of pytest itself."""

    async def left() -> bool:
        return await asyncio.to_thread(children) <= before

    await eventually(left)


def children() -> set[int]:
    return {one.pid for one in psutil.Process().children()}


async def test_no_more_than_so_many_at_a_time() -> None:
    forks = Forks(1)

    def work() -> bytes:
        began = time.monotonic()
        time.sleep(0.1)
        return f"{began} {time.monotonic()}".encode()

    answers = await asyncio.gather(*(forks.run(work, seconds=SECONDS, cpu_seconds=CPU) for _ in range(3)))
    spans = sorted([float(part) for part in one.split()] for one in answers)
    assert all(before[1] <= after[0] for before, after in pairwise(spans))
