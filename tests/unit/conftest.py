"""Fixtures of the unit tests: an event loop that nothing may block, and a clock that tests turn."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import pytest
from blockbuster import blockbuster_ctx

from tests.support.fake_time import FakeTime


@pytest.fixture(autouse=True)
def _loop_that_nothing_blocks(request: pytest.FixtureRequest) -> Iterator[None]:
    """A blocking call inside the running loop of an async test raises BlockingError, whatever awaits it."""
    if not inspect.iscoroutinefunction(getattr(request, "function", None)):
        yield
        return
    with blockbuster_ctx():
        yield


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> FakeTime:
    """A clock that sleeping moves on; nothing waits."""
    return FakeTime().install(monkeypatch)
