"""Waiting in tests: polls until something holds."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar, overload

from controller.kube import clock

_POLL_SECONDS = 0.05

T = TypeVar("T")


@overload
async def eventually(check: Callable[[], Awaitable[T]], *, seconds: float = ..., message: str = ...) -> T: ...
@overload
async def eventually(check: Callable[[], T], *, seconds: float = ..., message: str = ...) -> T: ...
async def eventually(
    check: Callable[[], Awaitable[T] | T], *, seconds: float = 40, message: str = "it did not come true"
) -> T:
    """Call `check` until what it returns is true, and return that.

    An AssertionError in it counts as not yet, and so do a LookupError and a ValueError: what is awaited is often a
    missing field, or the only item of a list that is still empty.

    Fails after `seconds` with `message` and what was seen last.
    """
    deadline = clock.monotonic() + seconds
    while True:
        try:
            result = check()
            value = await result if isinstance(result, Awaitable) else result
            if value:
                return value
            seen = repr(value)
        except (AssertionError, LookupError, ValueError) as error:
            seen = f"{type(error).__name__}: {error}"
        if clock.monotonic() > deadline:
            raise AssertionError(f"{message}; last seen after {seconds:g} s: {seen}")
        await asyncio.sleep(_POLL_SECONDS)
