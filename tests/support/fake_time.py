"""A clock that tests turn: sleeping moves it on, and nothing waits."""

from __future__ import annotations

import asyncio

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
