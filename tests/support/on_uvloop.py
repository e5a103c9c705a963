"""Tests on the event loop of the programs, whose connections are not quite those of asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, ParamSpec

import uvloop

_P = ParamSpec("_P")


def on_uvloop(test: Callable[_P, Coroutine[Any, Any, None]]) -> Callable[_P, None]:
    """Make a test of a coroutine, which runs on a loop of its own."""

    @wraps(test)
    def run(*args: _P.args, **kwargs: _P.kwargs) -> None:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(test(*args, **kwargs))

    return run
