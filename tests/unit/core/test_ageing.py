"""Priority that grows in steps: how much, and when next."""

from __future__ import annotations

import pytest

from controller.core.queueing.ageing import Ageing

HOURLY = Ageing(every=3600, by=30, most=100)


@pytest.mark.parametrize(
    ("waited", "grown", "next_step"),
    [
        (-10, 0, 3600),
        (0, 0, 3600),
        (3599, 0, 3600),
        (3600, 30, 7200),
        (3 * 3600, 90, 4 * 3600),
        (4 * 3600, 100, None),
        (1e9, 100, None),
    ],
)
def test_each_period_adds_its_step_until_the_bound_is_reached(
    waited: float, grown: int, next_step: float | None
) -> None:
    since = 1_000_000.0
    assert HOURLY.grown(waited) == grown
    assert HOURLY.next_step(since, since + waited) == (None if next_step is None else since + next_step)
