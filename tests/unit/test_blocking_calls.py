"""Calls that block, and may hang, hold up nobody."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from controller.blocking_calls import BlockingCalls
from tests.support.eventually import eventually


@pytest.fixture
def release() -> Iterator[threading.Event]:
    """Lets calls end that hang."""
    event = threading.Event()
    yield event
    event.set()


async def test_what_a_call_returns_or_raises_comes_back() -> None:
    calls = BlockingCalls("test", seconds=20)
    assert await calls.make(lambda: 7) == 7
    with pytest.raises(ZeroDivisionError):
        await calls.make(lambda: 1 // 0)
    assert await calls.make(lambda: 8) == 8


async def test_a_call_that_hangs_is_given_up_and_no_other_made(release: threading.Event) -> None:
    calls = BlockingCalls("test", seconds=0.05)
    with pytest.raises(TimeoutError):
        await calls.make(release.wait)
    made: list[int] = []
    with pytest.raises(TimeoutError, match="has not ended"):
        await calls.make(lambda: made.append(1))
    release.set()

    async def goes_on() -> bool:
        try:
            await calls.make(lambda: made.append(2))
        except TimeoutError:
            return False
        return True

    await eventually(goes_on)
    assert made[0] == 2
