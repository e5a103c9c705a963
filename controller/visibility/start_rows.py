"""When those that wait are expected to start, as rows and texts."""

from __future__ import annotations

from math import ceil, inf

from msgspec import Struct

from controller.core.calendar.durations import format_duration
from controller.kube.clock import epoch


class StartRow(Struct, frozen=True, rename="camel"):
    """When a workload is expected to start: before these times in 2, 5 and 9 of 10 simulations, as RFC 3339.

    `unknown` says why nobody knows; then there are no times. `forecast_at` is when the simulations began.
    """

    forecast_at: str
    p20: str = ""
    p50: str = ""
    p90: str = ""
    unknown: str = ""


class EtaRow(Struct, frozen=True, rename="camel"):
    """A pod that waits, and when it is expected to start."""

    namespace: str
    name: str
    local_queue: str
    start: StartRow


class AccuracyRow(Struct, frozen=True, rename="camel"):
    """How near the forecasts of a ClusterQueue came: of its latest starts, by the first forecast of each.

    `within` is the part of those with a range that lay in it, which should be 0.7. `median_error` is in seconds, and
    `median_error_part` is the error as a part of the time between the forecast and the start. Without any: None.
    """

    starts: int
    unknown: int
    within: float | None
    median_error: float | None
    median_error_part: float | None


def starts_in(row: StartRow | None, now: float) -> str:
    """Write in how long a workload starts at `now`, epoch seconds; `unknown` where nobody knows, `-` before that."""
    if row is None:
        return "-"
    return _until(row.p50, now) if row.p50 else "unknown"


def starts_range(row: StartRow, now: float) -> str:
    """Write the range in which it starts, seen from `now`, epoch seconds; `-` where nobody knows."""
    if not row.p50:
        return "-"
    return "now" if epoch(row.p90) <= now else f"{_until(row.p20, now)} to {_until(row.p90, now)}"


def _until(at: str, now: float) -> str:
    return wait_text(seconds) if (seconds := epoch(at) - now) > 0 else "now"


def wait_text(seconds: float) -> str:
    """Write a time to wait as people read it: to the minute, from a minute on."""
    if seconds == inf:
        return "unknown"
    if seconds < 60:
        return f"{ceil(seconds)}s"
    return format_duration(60 * round(seconds / 60))
