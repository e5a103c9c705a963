"""Cron and the wall clock: which minutes match, and when they come where clocks are moved."""

from __future__ import annotations

import datetime as dt
import re

import pytest

from controller.core.calendar.civil import date_of, day_of, weekday_of
from controller.core.calendar.cron import CronError, parse_cron
from controller.core.calendar.wall_clock import instant_of, next_start
from tests.support.zones import as_utc, utc, zone


def starts(cron: str, after: str, count: int, place: str = "UTC") -> list[str]:
    found, instant = [], utc(after)
    for _ in range(count):
        following = next_start(parse_cron(cron), zone(place), instant)
        assert following is not None
        instant = following
        found.append(as_utc(instant))
    return found


def test_days_and_dates_are_those_of_the_calendar() -> None:
    first = dt.date(1970, 1, 1)
    for number in range(-800_00, 300_000, 17):
        if not (dt.date.min - first).days <= number <= (dt.date.max - first).days:
            continue
        date = first + dt.timedelta(days=number)
        assert date_of(number) == (date.year, date.month, date.day)
        assert day_of(date.year, date.month, date.day) == number
        assert weekday_of(number) == date.isoweekday() % 7


@pytest.mark.parametrize(
    ("cron", "after", "expected"),
    [
        ("0 20 * * *", "2026-03-01 19:59", ["2026-03-01 20:00", "2026-03-02 20:00"]),
        ("0 20 * * *", "2026-03-01 20:00", ["2026-03-02 20:00", "2026-03-03 20:00"]),
        ("*/20 9-10 * * *", "2026-03-01 10:30", ["2026-03-01 10:40", "2026-03-02 09:00", "2026-03-02 09:20"]),
        ("5/30 1 * * *", "2026-03-01 00:00", ["2026-03-01 01:05", "2026-03-01 01:35"]),
        ("0 8 * * mon-FRI", "2026-03-06 08:00", ["2026-03-09 08:00"]),
        ("0 8 * * 7", "2026-03-06 08:00", ["2026-03-08 08:00", "2026-03-15 08:00"]),
        ("0 8 * * 5-7", "2026-03-05 08:00", ["2026-03-06 08:00", "2026-03-07 08:00", "2026-03-08 08:00"]),
        ("0 0 1,15 jan,DEC ?", "2026-01-15 00:00", ["2026-12-01 00:00", "2026-12-15 00:00", "2027-01-01 00:00"]),
        ("59 23 31 12 *", "2026-12-31 23:59", ["2027-12-31 23:59"]),
        ("0 0 29 2 *", "2096-02-29 00:00", ["2104-02-29 00:00"]),
        ("0 0 13 * 5", "2026-03-01 00:00", ["2026-03-06 00:00", "2026-03-13 00:00", "2026-03-20 00:00"]),
        ("0 0 13 * */2", "2026-03-11 00:00", ["2026-03-12 00:00", "2026-03-13 00:00", "2026-03-14 00:00"]),
        ("0 0 */1 * 5", "2026-03-01 00:00", ["2026-03-06 00:00", "2026-03-13 00:00"]),
        ("0 0 1 1 1-5/2", "2026-01-01 00:00", ["2026-01-02 00:00", "2026-01-05 00:00", "2026-01-07 00:00"]),
    ],
)
def test_a_cron_comes_when_a_cronjob_would(cron: str, after: str, expected: list[str]) -> None:
    assert starts(cron, after, len(expected)) == expected


@pytest.mark.parametrize(
    ("place", "cron", "after", "expected"),
    [
        # clocks go from 02:00 to 03:00 at 01:00 UTC: a start between them comes at the first instant after the gap
        ("Europe/Berlin", "30 2 * * *", "2026-03-28 12:00", ["2026-03-29 01:00", "2026-03-30 00:30"]),
        ("Europe/Berlin", "0 2 * * *", "2026-03-28 12:00", ["2026-03-29 01:00", "2026-03-30 00:00"]),
        ("Europe/Berlin", "0 3 * * *", "2026-03-28 12:00", ["2026-03-29 01:00", "2026-03-30 01:00"]),
        ("Europe/Berlin", "*/30 2-3 * * *", "2026-03-28 12:00", ["2026-03-29 01:00", "2026-03-29 01:30"]),
        # clocks go from 03:00 back to 02:00 at 01:00 UTC: what comes twice counts once, the first time
        ("Europe/Berlin", "30 2 * * *", "2026-10-24 12:00", ["2026-10-25 00:30", "2026-10-26 01:30"]),
        ("Europe/Berlin", "0 3 * * *", "2026-10-24 12:00", ["2026-10-25 02:00", "2026-10-26 02:00"]),
        ("Europe/Berlin", "0 * * * *", "2026-10-24 23:30", ["2026-10-25 00:00", "2026-10-25 02:00"]),
        ("Europe/Berlin", "30 2 * * *", "2026-10-25 01:15", ["2026-10-26 01:30"]),
        ("America/New_York", "30 2 * * *", "2026-03-07 12:00", ["2026-03-08 07:00", "2026-03-09 06:30"]),
        ("America/New_York", "30 1 * * *", "2026-10-31 12:00", ["2026-11-01 05:30", "2026-11-02 06:30"]),
        ("Asia/Kolkata", "0 9 * * *", "2026-03-29 00:00", ["2026-03-29 03:30", "2026-03-30 03:30"]),
        # half an hour: 02:00 to 02:30 in October, 02:00 back to 01:30 in April
        ("Australia/Lord_Howe", "15 2 * * *", "2026-10-03 12:00", ["2026-10-03 15:30", "2026-10-04 15:15"]),
        ("Australia/Lord_Howe", "45 1 * * *", "2026-04-04 12:00", ["2026-04-04 14:45", "2026-04-05 15:15"]),
        # a whole day was skipped
        ("Pacific/Apia", "0 12 30 12 *", "2011-12-29 00:00", ["2011-12-30 10:00", "2012-12-29 22:00"]),
    ],
)
def test_a_start_comes_once_however_clocks_are_moved(place: str, cron: str, after: str, expected: list[str]) -> None:
    assert starts(cron, after, len(expected), place) == expected


def test_an_instant_that_clocks_show_once_is_found() -> None:
    berlin = zone("Europe/Berlin")
    for instant in range(utc("2026-06-01 00:00"), utc("2026-06-03 00:00"), 977):
        assert instant_of(instant + berlin.offset_at(instant), berlin) == instant


@pytest.mark.parametrize(
    ("cron", "text"),
    [
        ("", "must have five fields: minute, hour, day of the month, month and day of the week"),
        ("@daily", "must have five fields"),
        ("0 0 0 20 * *", "must have five fields"),
        ("TZ=UTC 0 20 * * *", "must have five fields"),
        ("60 * * * *", 'minute "60": must be 0 to 59'),
        ("* 24 * * *", 'hour "24": must be 0 to 23'),
        ("* * 0 * *", 'day of the month "0": must be 1 to 31'),
        ("* * * mo *", 'month "mo": must be 1 to 12'),
        ("* * * * 8", 'day of the week "8": must be 0 to 7'),
        ("* * * * jan", 'day of the week "jan": must be 0 to 7'),
        ("*/0 * * * *", 'minute "*/0": a step must be at least 1'),
        ("*-5 * * * *", 'minute "*-5": a range must begin with a number'),
        ("0 22-6 * * *", 'hour "22-6": a range must not end before it begins; write two of them'),
        ("1,,2 * * * *", 'minute "": must be "*", a number, a range such as 1-5, or one with a step'),
        ("-1 * * * *", 'minute "-1": must be "*", a number, a range such as 1-5, or one with a step'),
        ("٣ * * * *", 'minute "٣": must be "*", a number'),
        ("0 0 31 2 *", "never comes: no month of 2 has a day 31"),
        ("0 0 30-31 feb *", "never comes: no month of feb has a day 30-31"),
        ("0 0 31 4,6,9,11 *", "never comes: no month of 4,6,9,11 has a day 31"),
    ],
)
def test_a_cron_that_cannot_be_used_is_refused_in_words(cron: str, text: str) -> None:
    with pytest.raises(CronError, match=f"^{re.escape(text)}"):
        parse_cron(cron)
