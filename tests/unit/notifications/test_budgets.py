"""Which notices follow from what budgets have used: each threshold once in a period."""

from __future__ import annotations

import pytest

from controller.core.budgets.budget import Budget
from controller.core.budgets.periods import Period
from controller.notifications.budgets import BudgetNotices, BudgetState
from controller.notifications.notices import Notice
from tests.support.budgets import NOON, a_budget, a_calendar, a_counting_cache, a_run, a_sliding, put
from tests.support.notices import by_id

HOUR = 3600
LOCAL = frozenset({("default", "main")})


class Counted:
    """A budget of team-a of two hours of cpu, and who tells of it."""

    def __init__(self, period: Period | None = None) -> None:
        self.budget: Budget = a_budget(period=period or a_calendar())
        self.cache = a_counting_cache(self.budget)
        self.notices = BudgetNotices(lambda queue: LOCAL if queue == "team-a" else frozenset())

    def look(self, now: int, *percents: int) -> dict[str, Notice]:
        self.cache.advance(now)
        tally = self.cache.budgets.tally("team-a", self.budget)
        assert tally is not None
        return by_id(self.notices.look([BudgetState("team-a", self.budget, tally)], percents or (50, 100), now))


def test_each_threshold_is_told_once_in_a_period() -> None:
    counted = Counted()
    put(counted.cache, a_run(started=NOON), now=NOON)
    assert counted.look(NOON + HOUR - 1) == {}
    found = counted.look(NOON + HOUR)
    (notice,) = found.values()
    assert list(found) == ["budget/team-a/daily/2026-03-04T00:00:00Z/50"]
    assert (notice.percent, notice.is_repeat, notice.local_queues) == (50, False, LOCAL)
    assert (notice.data["used"], notice.data["amount"], notice.data["unit"]) == ("1", "2", "hours of cpu")
    assert notice.data["runsOutAt"] == "2026-03-04T14:00:00Z"
    assert counted.look(NOON + HOUR + 1) == {}
    assert list(counted.look(NOON + 3 * HOUR)) == ["budget/team-a/daily/2026-03-04T00:00:00Z/100"]
    again = counted.look(NOON + 14 * HOUR)
    assert set(again) == {f"budget/team-a/daily/2026-03-05T00:00:00Z/{percent}" for percent in (50, 100)}


def test_what_is_crossed_at_the_start_may_have_been_told() -> None:
    counted = Counted()
    put(counted.cache, a_run(started=NOON - HOUR), now=NOON)
    (notice,) = counted.look(NOON).values()
    assert (notice.percent, notice.is_repeat) == (50, True)
    assert [one.is_repeat for one in counted.look(NOON + HOUR).values()] == [False]


def test_a_window_that_slides_tells_a_crossing_once() -> None:
    counted = Counted(a_sliding(48 * HOUR))
    put(counted.cache, a_run(started=NOON - HOUR), now=NOON)
    assert counted.look(NOON) == {}, "nobody knows when that was crossed"
    (notice,) = counted.look(NOON + HOUR).values()
    assert (notice.percent, "periodEnd" in notice.data) == (100, False)
    put(counted.cache, a_run(started=NOON - HOUR, ended=NOON + HOUR), now=NOON + HOUR)
    assert counted.look(NOON + 2 * HOUR) == {}
    assert counted.look(NOON + 60 * HOUR) == {}, "it has slid out of the window"
    put(counted.cache, a_run("later", started=NOON + 60 * HOUR), now=NOON + 60 * HOUR)
    assert list(counted.look(NOON + 61 * HOUR)) == ["budget/team-a/daily/2026-03-07T01:00:00Z/50"]


def test_a_window_that_slides_is_told_of_once_in_its_length() -> None:
    counted = Counted(a_sliding(48 * HOUR))
    put(counted.cache, a_run(started=NOON), now=NOON)
    assert counted.look(NOON) == {}
    assert len(counted.look(NOON + 2 * HOUR, 100)) == 1
    put(counted.cache, a_run(started=NOON, ended=NOON + 2 * HOUR), now=NOON + 2 * HOUR)
    assert counted.look(NOON + 49 * HOUR, 100) == {}, "an hour has slid out"
    put(counted.cache, a_run("later", cpu="10", started=NOON + 49 * HOUR), now=NOON + 49 * HOUR)
    assert counted.look(NOON + 50 * HOUR - 1, 100) == {}, "it was told less than two days ago"


@pytest.mark.parametrize("percent", [150, 1000])
def test_more_than_there_is_can_be_a_threshold(percent: int) -> None:
    counted = Counted()
    put(counted.cache, a_run(cpu="100", started=NOON), now=NOON)
    assert counted.look(NOON, percent) == {}
    (notice,) = counted.look(NOON + HOUR, percent).values()
    assert (notice.percent, "runsOutAt" in notice.data) == (percent, False)


def test_a_budget_that_is_gone_is_forgotten() -> None:
    counted = Counted()
    put(counted.cache, a_run(started=NOON), now=NOON)
    assert counted.look(NOON) == {}
    assert len(counted.look(NOON + HOUR)) == 1
    assert counted.notices.look([], [50], NOON + HOUR) == []
    assert len(counted.look(NOON + HOUR)) == 1
