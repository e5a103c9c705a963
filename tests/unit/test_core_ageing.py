"""Priority that grows in steps: how much, and when next."""

from __future__ import annotations

from math import inf

import pytest

from controller.cache.ageing import Steps
from controller.core.ageing import Ageing

HOURLY = Ageing(every=3600, by=30, most=100)


@pytest.mark.parametrize(
    ("waited", "grown", "next_step"),
    [
        (-10, 0, 3600),
        (0, 0, 3600),
        (3599, 0, 3600),
        (3600, 30, 7200),
        (3 * 3600, 90, 4 * 3600),
        (4 * 3600, 100, inf),
        (1e9, 100, inf),
    ],
)
def test_each_period_adds_its_step_until_the_bound_is_reached(waited: float, grown: int, next_step: float) -> None:
    since = 1_000_000.0
    assert HOURLY.grown(waited) == grown
    assert HOURLY.next_step(since, since + waited) == since + next_step


def test_a_step_is_taken_once_at_its_time_and_only_if_it_still_holds() -> None:
    steps = Steps()
    for uid, at in (("a", 5.0), ("b", 3.0), ("c", 4.0), ("a", 2.0), ("c", inf), ("never", inf)):
        steps.put(uid, at)
    assert (steps.next, steps.take(1)) == (2.0, [])
    assert (steps.take(10), steps.take(10), steps.next) == (["a", "b"], [], inf)
