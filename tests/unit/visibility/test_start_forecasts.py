"""Forecasts of starts: the latest is shown, the first of each pod is what its start is compared with."""

from __future__ import annotations

from math import inf

import pytest

from controller.simulator.eta import Eta, Unknown
from controller.visibility.start_forecasts import Hit, StartForecasts
from controller.visibility.start_rows import AccuracyRow, StartRow, starts_in, wait_text

NOW = 1_780_000_000.0
QUEUE = "team-a"


def an_eta(*seconds: float) -> Eta:
    """Quantiles, in seconds from NOW."""
    p20, p50, p90 = (NOW + one for one in seconds)
    return Eta("default/a", p20, p50, p90)


def test_a_row_has_the_range_or_why_nobody_knows() -> None:
    book = StartForecasts()
    book.take({"a": an_eta(10, 20.2, 30), "b": Unknown("default/b", "it never fits", ("other/c",))}, NOW)
    made, later = "2026-05-28T20:26:40Z", "2026-05-28T20:27:10Z"
    assert book.row("a") == StartRow(made, "2026-05-28T20:26:50Z", "2026-05-28T20:27:01Z", later)
    assert book.row("b") == StartRow(made, unknown="it never fits")
    assert book.row("c") is None


@pytest.mark.parametrize(
    ("row", "text"),
    [
        (None, "-"),
        (StartRow("", unknown="it never fits"), "unknown"),
        (StartRow("", p50="2026-05-28T20:26:30Z"), "now"),
        (StartRow("", p50="2026-05-28T20:27:10Z"), "30s"),
        (StartRow("", p50="2026-05-28T21:31:50Z"), "1h5m"),
    ],
)
def test_a_column_says_in_how_long(row: StartRow | None, text: str) -> None:
    assert starts_in(row, NOW) == text


def test_a_wait_is_told_to_the_minute() -> None:
    assert [wait_text(one) for one in (0, 5.2, 90, 3600, float("inf"))] == ["0s", "6s", "2m", "1h", "unknown"]


def test_a_start_is_compared_with_the_first_forecast() -> None:
    book = StartForecasts()
    book.take({"a": an_eta(10, 20, 30)}, NOW)
    book.take({"a": an_eta(100, 200, 300)}, NOW + 5)
    start = book.started("a", QUEUE, NOW + 25)
    assert start is not None
    assert (start.hit, start.late, start.ahead) == (Hit.WITHIN, 5.0, 25.0)
    assert book.started("a", QUEUE, NOW + 26) is None


def test_what_is_planned_is_the_first_median_of_those_that_wait() -> None:
    book = StartForecasts()
    book.take({"a": an_eta(10, 20.2, 30), "b": Unknown("default/b", "it never fits"), "c": an_eta(1, 2, 3)}, NOW)
    book.take({"a": an_eta(100, 200, 300), "b": an_eta(4, 5, 6)}, NOW + 5)
    assert book.planned() == {"a": int(NOW) + 21}


@pytest.mark.parametrize(("at", "hit"), [(9.9, Hit.BEFORE), (10, Hit.WITHIN), (30, Hit.WITHIN), (30.1, Hit.AFTER)])
def test_a_start_lies_somewhere(at: float, hit: Hit) -> None:
    book = StartForecasts()
    book.take({"a": an_eta(10, 20, 30)}, NOW)
    start = book.started("a", QUEUE, NOW + at)
    assert start is not None
    assert start.hit is hit


def test_a_start_without_a_median_has_no_error() -> None:
    book = StartForecasts()
    found: dict[str, Eta | Unknown] = {"a": an_eta(10, 20, 30), "b": an_eta(10, inf, inf)}
    found["c"] = Unknown("default/c", "it never fits")
    book.take(found, NOW)
    starts = {uid: book.started(uid, QUEUE, NOW + 25) for uid in found}
    assert {uid: one is not None and one.has_error for uid, one in starts.items()} == {
        "a": True,
        "b": False,
        "c": False,
    }


def test_one_that_went_without_a_start_is_forgotten() -> None:
    book = StartForecasts()
    book.take({"a": an_eta(10, 20, 30)}, NOW)
    book.take({}, NOW + 5)
    assert book.started("a", QUEUE, NOW + 20) is None
    assert book.accuracy() == {}


def test_accuracy_is_of_the_starts_of_a_queue() -> None:
    book = StartForecasts()
    found = {f"a{n}": an_eta(10, 20, 30) for n in range(4)}
    book.take({**found, "b": Unknown("default/b", "it never fits")}, NOW)
    for uid, at in (("a0", 20), ("a1", 25), ("a2", 40), ("a3", 5), ("b", 7)):
        book.started(uid, QUEUE, NOW + at)
    # errors of 0, 5, 20 and 15 s after 20, 25, 40 and 5 s
    assert book.accuracy() == {QUEUE: AccuracyRow(5, 1, 0.5, 10.0, 0.35)}
    book.keep({"other": None})
    assert book.accuracy() == {}


def test_accuracy_without_any_range_is_unknown() -> None:
    book = StartForecasts()
    book.take({"b": Unknown("default/b", "it never fits")}, NOW)
    book.started("b", QUEUE, NOW + 7)
    assert book.accuracy() == {QUEUE: AccuracyRow(1, 1, None, None, None)}
