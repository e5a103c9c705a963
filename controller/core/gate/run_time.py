"""How long what is admitted may run: the least of what its queue, its class and its user allow, over all admissions.

A release writes what is left of that as `activeDeadlineSeconds`, so that Kubernetes itself ends a Job or pod in time. A
Job that is suspended begins anew there; what it ran before is kept on it, and taken off the next time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from controller.core.calendar.durations import DurationError, parse_duration
from controller.core.keys import MAX_RUN_TIME, RUN_TIME_USED
from controller.core.reasons import Reason
from controller.core.workloads.workload import Hold

_NOTICE: Final = 900.0
_LONGEST: Final = 2**31 - 1
"""The most seconds that the apiserver takes as a deadline."""


def run_time_left(limits: Iterable[int], used: int) -> int:
    """Return the seconds that may still be run by all of these limits (0: none) after so many; 0: as long as it likes.

    One second is the least, as there is no deadline of 0: what has used all of its time is ended when it begins.
    """
    least = min((one for one in limits if one), default=0)
    return max(1, least - used) if least else 0


def limited(own: int, left: int) -> int:
    """Return the deadline to write where that is another than its own; 0: none is written."""
    return left if left and (not own or left < own) else 0


def warned_at(admitted: float, ends: float) -> float:
    """Return when its user is told that what was admitted then ends, all in seconds since 1970.

    When a tenth of its time is left, and a quarter of an hour before at the earliest.
    """
    return ends - min((ends - admitted) / 10, _NOTICE)


def read_max_run_time(notes: Mapping[str, str]) -> tuple[int, Hold | None]:
    """Return the seconds for which a Job runs at most as its user says (0: nothing), or what is wrong with that."""
    text = notes.get(MAX_RUN_TIME)
    if text is None:
        return 0, None
    try:
        seconds = parse_duration(text)
    except DurationError:
        seconds = 0
    if 0 < seconds <= _LONGEST:
        return seconds, None
    what = f"annotation {MAX_RUN_TIME} is {text[:40]!r}; write hours, minutes and seconds, such as 8h, 90m or 1h30m"
    return 0, Hold(Reason.INVALID_REQUESTS, f"{what}, or remove it")


def read_used(notes: Mapping[str, str]) -> int:
    """Return the seconds that a Job ran in the admissions before this one."""
    text = notes.get(RUN_TIME_USED, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < len(str(_LONGEST)) else 0
