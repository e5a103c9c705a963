"""Time in tests of schedules: zones by name, instants by what clocks show."""

from __future__ import annotations

import datetime as dt

from controller.api.time_zones import IanaZone, load_zone
from controller.core.calendar.cron import parse_cron
from controller.core.calendar.durations import parse_duration
from controller.core.calendar.windows import Window


def zone(name: str = "UTC") -> IanaZone:
    return load_zone(name)


def utc(text: str) -> int:
    """Seconds since 1970 of `2026-03-29 00:30`, read as UTC."""
    return int(dt.datetime.fromisoformat(text).replace(tzinfo=dt.UTC).timestamp())


def as_utc(instant: int | None) -> str:
    """The way back."""
    return "never" if instant is None else dt.datetime.fromtimestamp(instant, dt.UTC).strftime("%Y-%m-%d %H:%M")


def a_window(name: str = "night", start: str = "0 20 * * *", duration: str = "8h", place: str = "UTC") -> Window:
    return Window(name=name, start=parse_cron(start), duration=parse_duration(duration), zone=zone(place))
