"""Windows against a scan of every minute, shares against fractions, those of limits against the queues below."""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from controller.api.schedule import CRON_PATTERN
from controller.core.calendar.cron import CronError, parse_cron
from controller.core.calendar.windows import outlook
from controller.core.queueing.effective import Capacity, Variation, WrittenLimits, flavors_below, in_effect
from controller.core.queueing.queues import ClusterQueue
from controller.core.queueing.shares import Share, parse_share
from tests.support.builders import a_quota
from tests.support.zones import a_window, utc

_MINUTE = 60
_SHIFT, _BEFORE, _AFTER = 26 * 60, 31 * 60, 5 * 24 * 60
"""Minutes: how far now is from where clocks are moved, and what is scanned before and after: the longest duration
and days to foretell."""

MOVED_CLOCKS = (
    ("Europe/Berlin", "2026-03-29 01:00"),
    ("Europe/Berlin", "2026-10-25 01:00"),
    ("America/New_York", "2026-03-08 07:00"),
    ("America/New_York", "2026-11-01 06:00"),
    ("Australia/Lord_Howe", "2026-10-03 15:30"),
    ("Australia/Lord_Howe", "2026-04-04 15:00"),
    ("America/Sao_Paulo", "2018-11-04 03:00"),  # at midnight
    ("America/Havana", "2026-11-01 05:00"),
    ("Africa/Casablanca", "2026-02-15 02:00"),
    ("Pacific/Apia", "2011-12-30 10:00"),  # by a day
    ("Asia/Kolkata", "2026-03-29 01:00"),  # not at all
)


@dataclass(frozen=True)
class Fields:
    """A cron as sets; None is a star."""

    minutes: frozenset[int]
    hours: frozenset[int] | None
    days: frozenset[int] | None
    weekdays: frozenset[int] | None

    def text(self) -> str:
        parts = (self.minutes, self.hours, self.days, None, self.weekdays)
        return " ".join("*" if part is None else ",".join(map(str, sorted(part))) for part in parts)

    def matches(self, wall: dt.datetime) -> bool:
        of_month = None if self.days is None else wall.day in self.days
        of_week = None if self.weekdays is None else wall.isoweekday() % 7 in self.weekdays
        day = [found for found in (of_month, of_week) if found is not None]
        return wall.minute in self.minutes and (self.hours is None or wall.hour in self.hours) and (not day or any(day))


def numbers(least: int, most: int) -> st.SearchStrategy[frozenset[int] | None]:
    return st.none() | st.frozensets(st.integers(least, most), min_size=1, max_size=4)


CRONS = st.builds(
    Fields,
    minutes=st.frozensets(st.integers(0, 59), min_size=1, max_size=3) | st.just(frozenset(range(60))),
    hours=numbers(0, 23) | st.frozensets(st.integers(0, 4), min_size=1, max_size=3),
    days=numbers(1, 31),
    weekdays=numbers(0, 6),
)


@cache
def new_times(place: str, at: str) -> dict[int, tuple[dt.datetime, ...]]:
    """What clocks show for the first time in each minute around `at`; times left out are shown, so to say, at once."""
    zone, seen, latest = ZoneInfo(place), set[dt.datetime](), None
    found = {}
    middle = utc(at) // _MINUTE
    for minute in range(middle - _SHIFT - _BEFORE - 2 * 1440, middle + _SHIFT + _AFTER):
        wall = dt.datetime.fromtimestamp(minute * _MINUTE, zone).replace(tzinfo=None)
        shown = [wall]
        while latest is not None and (earlier := shown[-1] - dt.timedelta(minutes=1)) > latest:
            shown.append(earlier)
        found[minute] = tuple(one for one in shown if one not in seen)
        seen.update(shown)
        latest = wall if latest is None else max(wall, latest)
    return found


@given(
    CRONS,
    st.sampled_from(MOVED_CLOCKS),
    st.integers(-_SHIFT, _SHIFT),
    st.integers(1, 30 * 60) | st.sampled_from([1, 30, 60, 480, 1440]),
)
def test_windows_agree_with_a_scan_of_every_minute(
    fields: Fields, moved: tuple[str, str], shift: int, duration: int
) -> None:
    place, at = moved
    now = utc(at) // _MINUTE + shift
    scanned = range(now, now + _AFTER)
    opened: set[int] = set()
    for minute, shown in new_times(place, at).items():
        if any(map(fields.matches, shown)):
            opened.update(range(minute, minute + duration))
    changes = [minute for minute in scanned if (minute in opened) != (now in opened)]

    found = outlook((a_window("w", fields.text(), f"{duration}m", place),), now * _MINUTE)

    assert bool(found.open) == (now in opened)
    foretold = bool(found.opens or found.closes)
    assert foretold == (found.opens != found.closes)
    assert bool(found.opens) == (foretold and now not in opened)
    if changes and changes[0] * _MINUTE <= found.until:
        assert (found.until, foretold) == (changes[0] * _MINUTE, True)
    else:
        assert not foretold or found.until // _MINUTE not in scanned


def fault_of(text: str) -> str:
    """What is said of a cron; empty: it is one, and comes."""
    try:
        cron = parse_cron(text)
    except CronError as error:
        return str(error)
    return "" if cron.next_minute(29_000_000) is not None else "does not come"


@given(st.text() | st.text("0123456789*/,-? amonfri"))
def test_any_text_is_a_cron_that_comes_or_is_refused(text: str) -> None:
    assert fault_of(text) != "does not come"


@given(st.from_regex(CRON_PATTERN, fullmatch=True))
def test_crons_that_the_apiserver_takes_have_no_other_fault(text: str) -> None:
    fault = fault_of(text)
    assert not fault or "a range must not end before it begins" in fault or fault.startswith("never comes")


@given(st.integers(0, 10_000), st.integers(0, 2**63 - 1))
def test_shares_agree_with_fractions(hundredths: int, capacity: int) -> None:
    whole, rest = divmod(hundredths, 100)
    share = parse_share(f"{whole}.{rest:02}%")
    assert share.of(capacity) == math.floor(Fraction(hundredths, 10_000) * capacity)


@given(st.data())
def test_shares_of_limits_agree_with_a_sum_of_all_below(data: st.DataObject) -> None:
    flavors = ("spot", "steady", "far")
    names = [f"q{number}" for number in range(data.draw(st.integers(1, 5)))]
    parents = {name: data.draw(st.sampled_from(("", "nobody", *names[:at]))) for at, name in enumerate(names)}
    listed = {name: data.draw(st.sets(st.sampled_from(flavors))) for name in names}
    amounts = {flavor: data.draw(st.integers(0, 2**62)) for flavor in flavors}
    hundredths = data.draw(st.integers(0, 10_000))
    queues = {
        name: ClusterQueue(name=name, parent=parents[name], flavors=tuple(map(a_quota, listed[name]))) for name in names
    }

    def is_below(name: str, top: str) -> bool:
        return name == top or (parents.get(name, "") in parents and is_below(parents[name], top))

    below = flavors_below(queues)
    shares = Variation(shared_limits=WrittenLimits({"cpu": Share(hundredths)}))
    capacities = {flavor: Capacity({"cpu": amount}) for flavor, amount in amounts.items()}
    for top in names:
        together = {flavor for name in names if is_below(name, top) for flavor in listed[name]}
        found = in_effect(queues[top], shares, opened=(), capacities=capacities, below=below[top])
        whole = sum(amounts[flavor] for flavor in together)
        assert found.limits == {"cpu": math.floor(Fraction(hundredths, 10_000) * whole)}
