"""The one place that reads a clock; everything else is handed the time.

Wall time is for what people read and what other machines wrote (creationTimestamp); monotonic time
is for how long something took or may take.
"""

from __future__ import annotations

import datetime as dt
import time
from typing import Final

_FIRST: Final = dt.datetime(1, 1, 1, tzinfo=dt.UTC).timestamp()
_SINCE_BOOT: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
_END: Final = dt.datetime(9999, 12, 31, tzinfo=dt.UTC).timestamp() + 86_400


def now() -> float:
    """Seconds since the epoch."""
    return time.time()  # noqa: TID251 - this is the function that the ban points to


def monotonic() -> float:
    """Seconds on a clock that never jumps; only differences mean something.

    Where the system has such a clock, it goes on while the machine is suspended: a Lease ends then, too.
    """
    return time.clock_gettime(_SINCE_BOOT)


def rfc3339(epoch_seconds: float) -> str:
    """Render as Kubernetes' metav1.Time: UTC, whole seconds, `Z`."""
    return dt.datetime.fromtimestamp(int(epoch_seconds), dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def rfc3339_micro(epoch_seconds: float) -> str:
    """Render as Kubernetes' metav1.MicroTime: UTC, six fraction digits, `Z`."""
    return dt.datetime.fromtimestamp(epoch_seconds, dt.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def epoch(rfc3339_text: str | None) -> float:
    """Read metav1.Time or MicroTime; 0.0 for an absent one.

    Raises ValueError for what is no time, or lies outside the years 1 to 9999 in UTC: `rfc3339` fails for those.
    """
    if not rfc3339_text:
        return 0.0
    seconds = dt.datetime.fromisoformat(rfc3339_text).timestamp()
    if not _FIRST <= seconds < _END:
        raise ValueError(f"{rfc3339_text!r} is no time of the years 1 to 9999 in UTC")
    return seconds
