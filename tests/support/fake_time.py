"""A clock that tests turn: sleeping moves it on, and nothing waits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from controller.kube import clock

_yield_to_others = asyncio.sleep


class FakeTime:
    """Wall and monotonic time in one; `slept` is every sleep, in order."""

    def __init__(self) -> None:
        self.now = 1_772_352_000.0
        self.slept: list[float] = []

    def install(self, monkeypatch: pytest.MonkeyPatch) -> FakeTime:
        """Put this clock in the place of the real one."""
        monkeypatch.setattr(clock, "now", lambda: self.now)
        monkeypatch.setattr(clock, "monotonic", lambda: self.now)
        monkeypatch.setattr("asyncio.sleep", self.sleep)
        return self

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds
        await _yield_to_others(0)


async def turns(count: int = 5) -> None:
    """Let other tasks run for a few turns of the loop."""
    for _ in range(count):
        await _yield_to_others(0)


async def turns_until(holds: Callable[[], bool], most: int = 10_000) -> None:
    """Let other tasks run until this holds."""
    for _ in range(most):
        if holds():
            return
        await turns(1)
    raise AssertionError(f"it does not hold after {most} turns of the loop")
