"""The calendar in whole numbers: days since 1970-01-01 to dates and back, Gregorian throughout.

The core has no `datetime`, whose neighbours read clocks. What a place's clocks show is `wall_clock`.
"""

from __future__ import annotations

_DAYS_PER_ERA = 146_097
"""Days in 400 years, after which the calendar repeats."""
_EPOCH_FROM_MARCH_0000 = 719_468


def date_of(day: int) -> tuple[int, int, int]:
    """Return year, month (1-12) and day of the month of a day counted from 1970-01-01.

    Howard Hinnant's `civil_from_days`: years begin in March, so that a leap day is the last of its year.
    """
    era, of_era = divmod(day + _EPOCH_FROM_MARCH_0000, _DAYS_PER_ERA)
    year = (of_era - of_era // 1460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * year + year // 4 - year // 100)
    shifted = (5 * of_year + 2) // 153
    month = shifted + 3 if shifted < 10 else shifted - 9
    return 400 * era + year + (month <= 2), month, of_year - (153 * shifted + 2) // 5 + 1


def day_of(year: int, month: int, day: int) -> int:
    """Return the day, counted from 1970-01-01, of a date. Hinnant's `days_from_civil`."""
    year -= month <= 2
    era, of_era = divmod(year, 400)
    of_year = (153 * (month - 3 if month > 2 else month + 9) + 2) // 5 + day - 1
    return _DAYS_PER_ERA * era + 365 * of_era + of_era // 4 - of_era // 100 + of_year - _EPOCH_FROM_MARCH_0000


def weekday_of(day: int) -> int:
    """Return the day of the week, Sunday being 0, of a day counted from 1970-01-01."""
    return (day + 4) % 7


def utc_text(instant: int) -> str:
    """Write an instant, in seconds since 1970 UTC, as RFC 3339 has it: `2026-03-02T08:00:00Z`."""
    day, second = divmod(instant, 86_400)
    year, month, number = date_of(day)
    return f"{year:04}-{month:02}-{number:02}T{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}Z"
