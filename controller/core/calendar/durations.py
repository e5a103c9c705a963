"""Durations as people write them, in whole seconds: `8h`, `90m`, `1h30m`."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

DURATION_PATTERN: Final = r"([0-9]{1,5}h)?([0-9]{1,6}m)?([0-9]{1,7}s)?"
"""The part of Go's durations without fractions and without units below a second; also matches nothing at all."""


class DurationError(ValueError):
    """A duration that is malformed."""


def parse_duration(text: str) -> int:
    """Return the seconds of a duration. Raises DurationError."""
    match = re.fullmatch(DURATION_PATTERN, text)
    if match is None or not text:
        raise DurationError(f"{text!r} is not a duration; write hours, minutes and seconds, such as 8h, 90m or 1h30m")
    hours, minutes, seconds = (int(part[:-1]) if part else 0 for part in match.groups())
    return 3600 * hours + 60 * minutes + seconds


@lru_cache(maxsize=1024)
def format_duration(seconds: int) -> str:
    """Write whole seconds as a duration that reads back as the same, without parts that are nothing: `1h30m`."""
    hours, rest = divmod(seconds, 3600)
    parts = ((hours, "h"), (rest // 60, "m"), (rest % 60, "s"))
    return "".join(f"{number}{unit}" for number, unit in parts if number) or "0s"
