"""Numbers of traces: read from text, and held to what can be simulated."""

from __future__ import annotations

from math import isfinite, nan
from typing import Final

MOST_PODS: Final = 100_000
LONGEST: Final = 3_155_760_000
"""A hundred years in seconds: a trace may count them from 1970."""
_HIGHEST_PRIORITY: Final = 2**31 - 1


def number(name: str, text: str) -> float:
    """Read a finite number. Raises ValueError, as the others do; the text says of what, which value, and the range."""
    try:
        found = float(text)
    except ValueError:
        found = nan
    if not isfinite(found):
        raise ValueError(f"{name} is {text!r}; must be a number")
    return found


def seconds(name: str, text: str) -> float:
    """Read a time of a trace."""
    return _within(name, text, number(name, text), 0, LONGEST)


def duration(name: str, text: str) -> float:
    """Read a time above 0."""
    found = seconds(name, text)
    if not found:
        raise ValueError(f"{name} is {text!r}; must be above 0")
    return found


def stated(name: str, text: str) -> int:
    """Read a whole number of seconds."""
    return int(_within(name, text, _whole(name, text), 0, LONGEST))


def pods(name: str, text: str) -> int:
    """Read how many pods a job has."""
    return int(_within(name, text, _whole(name, text), 1, MOST_PODS))


def priority(name: str, text: str) -> int:
    """Read a priority as Kubernetes has them."""
    return int(_within(name, text, _whole(name, text), -_HIGHEST_PRIORITY - 1, _HIGHEST_PRIORITY))


def _whole(name: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"{name} is {text!r}; must be a whole number") from None


def _within(name: str, text: str, value: float, least: int, most: int) -> float:
    if least <= value <= most:
        return value
    raise ValueError(f"{name} is {text!r}; must be a number from {least} to {most}")
