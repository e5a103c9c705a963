"""Times as people say them of the history: a date, a time with a zone, so long ago, or now."""

from __future__ import annotations

import calendar
import datetime as dt
from typing import Final

FORMS: Final = "2026-11-01, 2026-11-01T14:00:00Z, 36h, 7d, or now"
_DAY: Final = 86_400
_UNITS: Final = {"m": 60, "h": 3600, "d": _DAY, "w": 7 * _DAY}


def read_time(text: str, now: int) -> int:
    """Return whole seconds since 1970. Raises ValueError for what is none of `FORMS`."""
    if text == "now":
        return now
    count, unit = text[:-1], _UNITS.get(text[-1:])
    if unit and count.isdecimal() and len(count) < 9:
        return max(0, now - int(count) * unit)
    try:
        return max(0, _time(text))
    except OverflowError as error:
        raise ValueError(str(error)) from None


def _time(text: str) -> int:
    """Read RFC 3339, or a date, which begins at midnight UTC as all days of bills do."""
    found = dt.datetime.fromisoformat(text)
    if found.tzinfo is None and len(text) > len("2026-11-01"):
        raise ValueError("a time needs its zone")
    return calendar.timegm(found.astimezone(dt.UTC).timetuple() if found.tzinfo else found.timetuple())
