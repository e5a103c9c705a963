"""Ctrl-C for commands that change many objects: the first ends them after what is under way, a second one at once."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(slots=True)
class Interrupt:
    """Whether somebody pressed Ctrl-C."""

    came: bool = False


@contextmanager
def gently(stop: Callable[[], None]) -> Iterator[Interrupt]:
    """Call `stop` at the first Ctrl-C; within a running event loop."""
    loop, interrupt = asyncio.get_running_loop(), Interrupt()

    def end() -> None:
        interrupt.came = True
        loop.remove_signal_handler(signal.SIGINT)
        stop()

    loop.add_signal_handler(signal.SIGINT, end)
    try:
        yield interrupt
    finally:
        loop.remove_signal_handler(signal.SIGINT)
