"""Cron in five fields, as a CronJob has it: which minutes on the wall match. When those come is `wall_clock`.

Mirrors `cron.ParseStandard` of robfig/cron v3, which Kubernetes uses: names of months and weekdays, lists, ranges and
steps; where both day fields are restricted, either will do. Beyond it, 7 is Sunday too. No macros, no zone within.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from controller.core.calendar.civil import date_of, day_of, weekday_of

_MINUTES_PER_DAY: Final = 1440
_LONGEST_WAIT_DAYS: Final = 8 * 366
"""29 February is eight years away around 2100; nothing else that ever comes takes longer."""
_ITEM: Final = re.compile(r"(?P<from>[*?]|\w+)(?:-(?P<to>\w+))?(?:/(?P<step>[0-9]{1,2}))?", re.ASCII)
_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS: Final = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")


class CronError(ValueError):
    """A cron that cannot be used; the text says which part and what would be legal."""


@dataclass(frozen=True, slots=True)
class _Field:
    noun: str
    least: int
    most: int
    names: tuple[str, ...] = ()


_FIELDS: Final = (
    _Field("minute", 0, 59),
    _Field("hour", 0, 23),
    _Field("day of the month", 1, 31),
    _Field("month", 1, 12, _MONTHS),
    _Field("day of the week", 0, 7, _WEEKDAYS),
)


@dataclass(frozen=True, slots=True)
class Cron:
    """Minutes on the wall: those of a matching day whose hour and minute match. `minutes` and `hours` are sorted."""

    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    either_day: bool
    """Both day fields are restricted: a day matches that meets one of them."""

    def next_minute(self, after: int) -> int | None:
        """Return the first matching minute later than `after`, both counted from 1970 on the wall; None: never."""
        day, of_day = divmod(after + 1, _MINUTES_PER_DAY)
        last = day + _LONGEST_WAIT_DAYS
        while day <= last:
            year, month, number = date_of(day)
            if month not in self.months:
                day, of_day = day_of(year + month // 12, month % 12 + 1, 1), 0
                continue
            found = self._from(of_day) if self._matches(day, number) else None
            if found is not None:
                return day * _MINUTES_PER_DAY + found
            day, of_day = day + 1, 0
        return None

    def _matches(self, day: int, number: int) -> bool:
        of_month, of_week = number in self.days, weekday_of(day) in self.weekdays
        return of_month or of_week if self.either_day else of_month and of_week

    def _from(self, of_day: int) -> int | None:
        """Return the first matching minute of a matching day that is not before `of_day`."""
        for hour in self.hours:
            if 60 * hour + 59 < of_day:
                continue
            for minute in self.minutes:
                if 60 * hour + minute >= of_day:
                    return 60 * hour + minute
        return None


def parse_cron(text: str) -> Cron:
    """Read a cron such as `0 20 * * mon-fri`. Raises CronError when it is malformed or never comes."""
    parts = text.split()
    if len(parts) != len(_FIELDS):
        raise CronError("must have five fields: minute, hour, day of the month, month and day of the week")
    minutes, hours, days, months, weekdays = map(_values, _FIELDS, parts)
    is_restricted = [not any(_is_star(item) for item in part.split(",")) for part in (parts[2], parts[4])]
    cron = Cron(
        tuple(sorted(minutes)),
        tuple(sorted(hours)),
        days,
        months,
        frozenset(day % 7 for day in weekdays),
        either_day=all(is_restricted),
    )
    if cron.next_minute(0) is None:
        raise CronError(f"never comes: no month of {parts[3]} has a day {parts[2]}")
    return cron


def _is_star(item: str) -> bool:
    """Say whether an item leaves its field open; with a step above 1 it does not, as robfig/cron has it."""
    return item in ("*", "?", "*/1", "?/1")


def _values(field: _Field, text: str) -> frozenset[int]:
    values: set[int] = set()
    for item in text.split(","):
        match = _ITEM.fullmatch(item)
        if match is None:
            raise CronError(f'{field.noun} "{item}": must be "*", a number, a range such as 1-5, or one with a step')
        values.update(_range(field, match))
    return frozenset(values)


def _range(field: _Field, match: re.Match[str]) -> range:
    """Read one item; a single number with a step goes on to the end, as robfig/cron has it."""
    start, end, step = match["from"], match["to"], int(match["step"] or 1)
    if step == 0:
        raise CronError(f'{field.noun} "{match[0]}": a step must be at least 1')
    if start in ("*", "?"):
        if end is not None:
            raise CronError(f'{field.noun} "{match[0]}": a range must begin with a number')
        return range(field.least, _last(field) + 1, step)
    first = _number(field, start)
    last = _number(field, end) if end is not None else _last(field) if match["step"] else first
    if last < first:
        raise CronError(f'{field.noun} "{match[0]}": a range must not end before it begins; write two of them')
    return range(first, last + 1, step)


def _last(field: _Field) -> int:
    return 6 if field.names is _WEEKDAYS else field.most


def _number(field: _Field, text: str) -> int:
    if text.lower() in field.names:
        return field.names.index(text.lower()) + field.least
    if not text.isdecimal() or not field.least <= int(text) <= field.most:
        raise CronError(f'{field.noun} "{text}": must be {field.least} to {field.most}')
    return int(text)
