"""IANA time zones: which names there are, and their offsets. The one place that reads zone data.

The names are those of the package `tzdata`, the same on every machine; the rules come from the system where it has
them, so that its administrator can bring them up to date, and else from that package.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from zoneinfo import ZoneInfo


@dataclass(frozen=True, slots=True)
class IanaZone:
    """A `core.calendar.wall_clock.Zone`; two of the same name are equal."""

    name: str
    _rules: ZoneInfo = field(compare=False, repr=False)

    def offset_at(self, instant: int) -> int:
        """Return how many seconds the clocks are ahead of UTC at an instant (seconds since 1970 UTC)."""
        offset = dt.datetime.fromtimestamp(instant, self._rules).utcoffset()
        return 0 if offset is None else int(offset.total_seconds())


def is_zone(name: str) -> bool:
    """Say whether there is a zone of this name, upper and lower case told apart."""
    return name in _names()


def load_zone(name: str) -> IanaZone:
    """Return a zone for which `is_zone` holds."""
    return IanaZone(name, ZoneInfo(name))


@cache
def _names() -> frozenset[str]:
    return frozenset(files("tzdata").joinpath("zones").read_text(encoding="utf-8").split())
