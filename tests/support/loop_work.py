"""How much is done between two turns of the event loop, as work counted: lines of Python run, a loop's each time round.

Seconds say as much of the machine as of the program; lines are the same every time. What one call does in C (to copy a
dict, to sort) counts as one line: it is a hundred times as fast, and no loop of ours. Compiled modules are not seen.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import pytest


@dataclass(slots=True)
class Work:
    """The lines that each turn ran, and in which code the longest ran most of them."""

    turns: list[int] = field(default_factory=list)

    @property
    def longest(self) -> int:
        """The most lines between two turns of the loop."""
        return max(self.turns, default=0)

    @property
    def total(self) -> int:
        """All lines of all turns."""
        return sum(self.turns)


def work_of(do: Callable[[], object]) -> int:
    """Return how many lines of Python a call runs, all that it calls included."""
    count = 0

    def trace(_: FrameType, event: str, __: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    former = sys.gettrace()
    sys.settrace(trace)
    try:
        do()
    finally:
        sys.settrace(former)
    return count


@contextmanager
def watched(monkeypatch: pytest.MonkeyPatch) -> Iterator[Work]:
    """Count what every callback of the loop runs, of every task, while the block lasts."""
    work, run = Work(), asyncio.Handle._run

    def counting(handle: asyncio.Handle) -> None:
        work.turns.append(work_of(lambda: run(handle)))

    with monkeypatch.context() as patched:
        patched.setattr(asyncio.Handle, "_run", counting)
        yield work
