"""Windows of a schedule: which are open at an instant, what changes next. What they override: `queueing.effective`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from controller.core.calendar.cron import Cron
from controller.core.calendar.wall_clock import Zone, next_start

FOR_EVER = 2**62
"""An instant that never comes."""
_LOOKAHEAD = 400
"""Starts that follow each other without a gap before we stop looking for their end, and look again by then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Opens whenever `start` comes in `zone`, for `duration` seconds that pass; starts in between prolong it."""

    name: str
    start: Cron
    duration: int
    zone: Zone


@dataclass(frozen=True, slots=True)
class Outlook:
    """A schedule at an instant: open windows, until when that holds, and what opens and closes then.

    Names are in the order of the list. Nothing in `opens` and `closes`: no change is known before `until`.
    """

    open: tuple[str, ...] = ()
    until: int = FOR_EVER
    opens: tuple[str, ...] = ()
    closes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _State:
    is_open: bool
    until: int
    is_change: bool = True


def outlook(windows: Sequence[Window], now: int) -> Outlook:
    """Say what is open at `now` (seconds since 1970 UTC) and what comes next."""
    states = [(window.name, _state(window, now)) for window in windows]
    until = min((state.until for _, state in states), default=FOR_EVER)
    next_ones = [(name, state.is_open) for name, state in states if state.until == until and state.is_change]
    return Outlook(
        open=tuple(name for name, state in states if state.is_open),
        until=until,
        opens=tuple(name for name, is_open in next_ones if not is_open),
        closes=tuple(name for name, is_open in next_ones if is_open),
    )


def _state(window: Window, now: int) -> _State:
    """Find the one start that may hold the window open now, and follow those that prolong it."""
    start = next_start(window.start, window.zone, now - window.duration)
    if start is None or start > now:
        return _State(is_open=False, until=FOR_EVER if start is None else start)
    for _ in range(_LOOKAHEAD):
        end = start + window.duration
        following = next_start(window.start, window.zone, start)
        if following is None or following > end:
            return _State(is_open=True, until=end)
        start = following
    return _State(is_open=True, until=start + window.duration, is_change=False)
