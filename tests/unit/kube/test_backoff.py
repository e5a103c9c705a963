"""Delays that double, in one place for all that is tried again."""

from __future__ import annotations

from controller.kube.backoff import Backoff


def test_delays_double_from_the_first_up_to_the_longest() -> None:
    backoff = Backoff(first=5.0, longest=60.0)
    assert [backoff.delay(failures) for failures in range(1, 7)] == [5.0, 10.0, 20.0, 40.0, 60.0, 60.0]


def test_the_longest_delay_holds_after_any_number_of_failures() -> None:
    assert Backoff(first=1.0, longest=60.0).delay(1_000_000) == 60.0


def test_no_delay_stays_none() -> None:
    assert Backoff(first=0.0, longest=0.0).delay(9) == 0.0
