"""Which windows are open, and what changes next."""

from __future__ import annotations

import pytest

from controller.core.calendar.durations import DurationError, parse_duration
from controller.core.calendar.windows import FOR_EVER, Outlook, outlook
from tests.support.zones import a_window, as_utc, utc

NIGHT = a_window("night", "0 20 * * *", "8h")
WEEKEND = a_window("weekend", "0 4 * * sat", "44h")


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        ("2026-03-04 19:59", ((), "2026-03-04 20:00", ("night",), ())),
        ("2026-03-04 20:00", (("night",), "2026-03-05 04:00", (), ("night",))),
        ("2026-03-05 03:59", (("night",), "2026-03-05 04:00", (), ("night",))),
        ("2026-03-05 04:00", ((), "2026-03-05 20:00", ("night",), ())),
        # Friday's night ends as the weekend begins
        ("2026-03-07 03:00", (("night",), "2026-03-07 04:00", ("weekend",), ("night",))),
        ("2026-03-07 21:00", (("night", "weekend"), "2026-03-08 04:00", (), ("night",))),
        ("2026-03-08 23:59", (("night", "weekend"), "2026-03-09 00:00", (), ("weekend",))),
    ],
)
def test_a_schedule_says_what_is_open_and_what_comes_next(now: str, expected: tuple[object, ...]) -> None:
    found = outlook((NIGHT, WEEKEND), utc(now))
    assert (found.open, as_utc(found.until), found.opens, found.closes) == expected


def test_a_window_closes_after_its_duration_whatever_the_clock() -> None:
    berlin = a_window("night", "0 22 * * *", "8h", "Europe/Berlin")
    assert as_utc(outlook((berlin,), utc("2026-03-28 21:00")).until) == "2026-03-29 05:00"  # 07:00 there
    assert as_utc(outlook((berlin,), utc("2026-10-24 20:00")).until) == "2026-10-25 04:00"  # 05:00 there


def test_a_start_in_an_open_window_prolongs_it() -> None:
    twice = a_window("late", "0 20,23 * * *", "4h")
    assert as_utc(outlook((twice,), utc("2026-03-04 20:30")).until) == "2026-03-05 03:00"


def test_a_window_that_opens_as_it_closes_stays_open() -> None:
    found = outlook((a_window("half", "0 8,12 * * *", "4h"),), utc("2026-03-04 09:00"))
    assert (as_utc(found.until), found.closes) == ("2026-03-04 16:00", ("half",))


def test_of_a_window_that_never_closes_no_change_is_foretold() -> None:
    now = utc("2026-03-04 09:00")
    found = outlook((a_window("always", "* * * * *", "1m"),), now)
    assert (found.open, found.opens, found.closes) == (("always",), (), ())
    assert now < found.until < FOR_EVER
    assert outlook((a_window("always", "0 8 * * *", "24h"),), now).closes == ()


def test_a_window_of_seconds_is_open_for_seconds() -> None:
    brief = a_window("brief", "0 * * * *", "5s")
    noon = utc("2026-03-04 12:00")
    assert [outlook((brief,), noon + seconds).open for seconds in (-1, 0, 4, 5)] == [(), ("brief",), ("brief",), ()]


def test_without_windows_nothing_ever_changes() -> None:
    assert outlook((), 0) == Outlook()


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("8h", 28_800), ("90m", 5_400), ("1h30m", 5_400), ("45s", 45), ("1h0m5s", 3_605), ("0s", 0), ("744h", 2_678_400)],
)
def test_a_duration_is_read_in_seconds(text: str, seconds: int) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "8", "1d", "1.5h", "30m1h", "-1h", "1h ", "h", "5ms", "1h1h"])
def test_a_duration_that_is_malformed_is_refused(text: str) -> None:
    with pytest.raises(DurationError, match="is not a duration; write hours, minutes and seconds"):
        parse_duration(text)
