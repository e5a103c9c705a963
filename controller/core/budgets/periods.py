"""Over what time a budget counts: days, weeks and months of a place's calendar, or the last so many seconds.

Time is cut into slices that follow each other without a gap. A calendar period is one slice; a sliding window is many,
of which the oldest falls out whole. Instants are whole seconds since 1970 UTC.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, Final, Protocol, runtime_checkable

from controller.core.calendar.civil import date_of, day_of, weekday_of
from controller.core.calendar.durations import format_duration
from controller.core.calendar.wall_clock import Zone, instant_of

_DAY: Final = 86_400
SLICES: Final = 48
"""In a sliding window: it is counted to a 48th of its length, which bounds what a status has to keep."""

Slice = tuple[int, int]
"""From, and up to but without."""


class CalendarUnit(StrEnum):
    """Which days are one period. Weeks begin on Monday (ISO 8601)."""

    DAY = "Day"
    WEEK = "Week"
    MONTH = "Month"


@runtime_checkable
class Period(Protocol):
    """What a budget asks of its period."""

    @property
    def lookahead(self) -> int:
        """How many slices from now on what is used now still counts in."""

    @property
    def key(self) -> str:
        """What sums rest on: those of another key are of no use."""

    @property
    def words(self) -> str:
        """How people say it, after an amount."""

    def slice_of(self, now: int) -> Slice:
        """Return the slice that `now` is in."""

    def oldest(self, now: int) -> int:
        """Return the start of the oldest slice that counts at `now`."""


@dataclass(frozen=True, slots=True)
class CalendarPeriod:
    """A day, week or month, as the calendar of the zone has it."""

    unit: CalendarUnit
    zone: Zone
    zone_name: str

    lookahead: ClassVar[int] = 1

    @property
    def key(self) -> str:
        """As `Period.key`."""
        return f"{self.unit}/{self.zone_name}"

    @property
    def words(self) -> str:
        """How people say it, after an amount."""
        return f"a {self.unit.lower()}"

    def slice_of(self, now: int) -> Slice:
        """Return the period that `now` is in. Where clocks are moved back over midnight, the new day has begun."""
        start, end = self._around((now + self.zone.offset_at(now)) // _DAY)
        return (start, end) if now < end else (end, self._around((end + self.zone.offset_at(end)) // _DAY)[1])

    def oldest(self, now: int) -> int:
        """Return the start of the oldest slice that counts at `now`."""
        return self.slice_of(now)[0]

    def _around(self, day: int) -> Slice:
        first = day
        if self.unit is CalendarUnit.WEEK:
            first, following = day - (weekday_of(day) + 6) % 7, day - (weekday_of(day) + 6) % 7 + 7
        elif self.unit is CalendarUnit.MONTH:
            year, month, number = date_of(day)
            first, following = day - number + 1, day_of(year + month // 12, month % 12 + 1, 1)
        else:
            following = day + 1
        return instant_of(first * _DAY, self.zone), instant_of(following * _DAY, self.zone)


@dataclass(frozen=True, slots=True)
class SlidingPeriod:
    """The last `seconds` in whole slices, beside the one that it is now: never less than was asked for.

    So the oldest slice falls out when a new one begins, and at no other time.
    """

    seconds: int

    lookahead: ClassVar[int] = SLICES + 2

    @property
    def key(self) -> str:
        """What sums rest on: those of another key are of no use."""
        return f"Sliding/{self.seconds}"

    @property
    def words(self) -> str:
        """How people say it, after an amount."""
        return f"in any {format_duration(self.seconds)}"

    @property
    def _length(self) -> int:
        return -(-self.seconds // SLICES)

    def slice_of(self, now: int) -> Slice:
        """Return the slice that `now` is in."""
        start = now - now % self._length
        return start, start + self._length

    def oldest(self, now: int) -> int:
        """Return the start of the oldest slice that counts at `now`."""
        return self.slice_of(now)[0] - -(-self.seconds // self._length) * self._length


def slices(period: Period, since: int, until: int) -> Iterator[Slice]:
    """Yield the slices that have time between the two instants, in order; none where there is no time between."""
    at = since
    while at < until:
        one = period.slice_of(at)
        yield one
        at = one[1]
