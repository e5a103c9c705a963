"""What budgets have used, as pods start, change, end and go, and as the controller and its rules change."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from controller.cache.cluster import ClusterCache
from controller.core.budgets.budget import AtEnd, Budget, money, read_price
from controller.core.budgets.periods import Period
from controller.core.budgets.tally import Memory
from controller.core.calendar.windows import FOR_EVER
from controller.core.workloads.pods import Pod
from controller.objects.budgets import Remembered
from tests.support.budgets import (
    NOON,
    a_budget,
    a_calendar,
    a_counting_cache,
    a_run,
    a_sliding,
    core_seconds,
    put,
    used,
)
from tests.support.builders import (
    a_cache,
    a_cluster_queue,
    a_flavor,
    a_foreign_pod,
    a_local_queue,
    a_node,
    a_pod,
    a_released_pod,
    a_shape,
    list_pods,
)

DAILY = a_budget()
HOUR = 3600
MIDNIGHT = NOON - 12 * HOUR


def after_a_restart(cache: ClusterCache, budget: Budget, now: int, *pods: Pod) -> ClusterCache:
    """Another controller, which finds these pods and what the first wrote at `now`."""
    tally = cache.budgets.tally("team-a", budget)
    assert tally is not None
    second = a_counting_cache(now=now)
    second.budgets.remember("team-a", {budget.name: Remembered(budget.key, tally.memory(now))})
    second.set_cluster_queue("team-a", a_cluster_queue(budgets=(budget,)))
    put(second, *pods, now=now)
    return second


def test_a_pod_counts_from_its_start_to_its_end() -> None:
    cache = a_counting_cache(DAILY)
    put(cache, a_run(started=NOON + 60), now=NOON + 100)
    assert used(cache, DAILY, NOON + 160) == core_seconds((0, 100))
    put(cache, a_run(started=NOON + 60, ended=NOON + 120), now=NOON + 300)
    assert used(cache, DAILY, NOON + 600) == core_seconds((0, 60))


def test_what_is_reserved_queued_or_not_ours_counts_nothing() -> None:
    cache = a_counting_cache(DAILY)
    pods = (a_pod("queued"), a_released_pod("reserved"), a_foreign_pod("other", node="node-1", started=NOON))
    put(cache, *pods, now=NOON)
    assert used(cache, DAILY, NOON + HOUR) == 0


def test_a_period_counts_earlier_pods_from_its_beginning() -> None:
    cache = a_counting_cache(DAILY)
    put(cache, a_run(started=NOON - 48 * HOUR), now=NOON)
    assert used(cache, DAILY, NOON) == core_seconds((MIDNIGHT, NOON))
    assert used(cache, DAILY, NOON + 13 * HOUR) == core_seconds((0, HOUR))


def test_an_end_without_a_time_is_when_it_is_seen() -> None:
    cache = a_counting_cache(DAILY)
    ended, gone = a_run("ended", started=NOON), a_run("gone", started=NOON)
    put(cache, ended, gone, now=NOON)
    put(cache, replace(ended, is_finished=True), now=NOON + 60)
    cache.drop_pod("gone")
    assert used(cache, DAILY, NOON + 100) == core_seconds((0, 60), (0, 100))
    assert used(cache, DAILY, NOON + HOUR) == core_seconds((0, 60), (0, 100))


def test_an_ended_pod_counts_once() -> None:
    cache = a_counting_cache(DAILY)
    over = a_run(started=NOON - 60, ended=NOON)
    for _ in range(3):
        put(cache, over, now=NOON + 60)
    list_pods(cache, [])
    assert used(cache, DAILY, NOON + HOUR) == core_seconds((0, 60))


def test_a_pod_that_ended_stays_ended() -> None:
    cache = a_counting_cache(DAILY)
    put(cache, a_run(started=NOON - 60, ended=NOON), now=NOON)
    put(cache, a_run(started=NOON - 60), now=NOON + 60)
    put(cache, a_run(cpu="2", started=NOON - 60), now=NOON + 70)
    put(cache, a_run(cpu="2", started=NOON - 60, ended=NOON), now=NOON + 80)
    cache.drop_pod("run")
    assert used(cache, DAILY, NOON + 90) == core_seconds((0, 60))


def test_a_terminating_pod_with_ended_containers_stops_counting() -> None:
    cache = a_counting_cache(DAILY)
    put(cache, a_run(started=NOON, is_terminating=True, ended=NOON + 10, is_finished=False), now=NOON + 60)
    assert used(cache, DAILY, NOON + HOUR) == core_seconds((0, 10))


def test_a_lost_pod_counts_until_it_is_gone() -> None:
    lost = a_run(started=NOON, node="dead", is_terminating=True, gone_by=NOON + 30.0)
    cache = a_counting_cache(DAILY)
    put(cache, lost, now=NOON)
    cache.advance(NOON + HOUR)
    assert cache.usage.charged == {}
    assert used(cache, DAILY, NOON + HOUR) == core_seconds((0, HOUR))
    for back in (True, False):
        cache.put_node(replace(a_node("dead"), is_ready=back))
        cache.snapshot()
        assert (cache.usage.charged != {}) is back
    assert used(cache, DAILY, NOON + 2 * HOUR) == core_seconds((0, 2 * HOUR))
    anew = a_counting_cache(DAILY)
    put(anew, lost, now=NOON + 2 * HOUR)
    assert used(anew, DAILY, NOON + 2 * HOUR) == core_seconds((0, 2 * HOUR))
    cache.drop_pod(lost.uid)
    assert [used(cache, DAILY, NOON + 2 * HOUR), used(cache, DAILY, NOON + 3 * HOUR)] == [
        core_seconds((0, 2 * HOUR))
    ] * 2


def test_a_pod_that_is_resized_counts_as_it_was_until_then() -> None:
    cache = a_counting_cache(DAILY)
    put(cache, a_run(cpu="2", started=NOON), now=NOON)
    put(cache, a_run(cpu="1", started=NOON), now=NOON + 100)
    assert used(cache, DAILY, NOON + 200) == core_seconds((0, 300))
    put(cache, a_run(cpu="1", started=NOON, ended=NOON + 150), now=NOON + 300)
    assert used(cache, DAILY, NOON + 300) == core_seconds((0, 250))


def test_times_that_have_not_come_yet_are_now() -> None:
    cache = a_counting_cache(DAILY)
    put(cache, a_run(started=NOON + 60), now=NOON)
    assert used(cache, DAILY, NOON + 10) == core_seconds((0, 10))
    put(cache, a_run(started=NOON + 60, ended=NOON + HOUR), now=NOON + 20)
    assert used(cache, DAILY, NOON + 30) == core_seconds((0, 20))


def test_a_restart_counts_on_and_nothing_twice() -> None:
    cache = a_counting_cache(DAILY)
    live, ended, gone = a_run("live", started=NOON), a_run("ended", started=NOON), a_run("gone", started=NOON)
    put(cache, live, ended, gone, now=NOON + 100)
    over, missed = (
        replace(ended, is_finished=True, ended=NOON + 150),
        a_run("new", started=NOON + 110, ended=NOON + 120),
    )
    second = after_a_restart(cache, DAILY, NOON + 100, live)
    put(second, over, missed, now=NOON + 200)
    assert used(second, DAILY, NOON + 200) == core_seconds((0, 200), (0, 150), (0, 100), (0, 10))
    third = after_a_restart(second, DAILY, NOON + 200, live, over, missed)
    assert used(third, DAILY, NOON + 200) == used(second, DAILY, NOON + 200)


def test_an_end_that_nobody_dates_and_nobody_saw_adds_nothing() -> None:
    cache = a_counting_cache(DAILY)
    put(cache, a_run(started=NOON), now=NOON + 100)
    second = after_a_restart(cache, DAILY, NOON + 100, a_run(started=NOON, is_finished=True))
    assert used(second, DAILY, NOON + 200) == core_seconds((0, 100))


def test_without_a_memory_pods_count_from_the_period_start() -> None:
    cache = a_counting_cache()
    put(cache, a_run("live", started=NOON - 60), a_run("over", started=NOON - 100, ended=NOON - 50), now=NOON)
    cache.set_cluster_queue("team-a", a_cluster_queue(budgets=(DAILY,)))
    assert used(cache, DAILY, NOON) == core_seconds((0, 60), (0, 50))


def test_a_memory_of_another_rule_is_dropped() -> None:
    memory = Memory(NOON, {MIDNIGHT: 5000})
    for budget, sum_ in ((a_budget(9), 5000), (a_budget(resource="memory"), 0), (a_budget(period=a_sliding()), 0)):
        cache = a_counting_cache()
        cache.budgets.remember("team-a", {"daily": Remembered(DAILY.key, memory)})
        cache.set_cluster_queue("team-a", a_cluster_queue(budgets=(budget,)))
        assert used(cache, budget, NOON) == sum_


LEAPT = [
    pytest.param(a_calendar("Month"), 60 * 24 * HOUR, id="into another month"),
    pytest.param(a_calendar("Month"), 3 * 24 * HOUR, id="within the month"),
    pytest.param(a_sliding(), 30 * 24 * HOUR, id="over all of the window"),
    pytest.param(a_sliding(), 5 * HOUR, id="over a part of the window"),
]


@pytest.mark.parametrize(("period", "leap"), LEAPT)
def test_a_clock_that_jumped_and_came_back_changes_nothing(period: Period, leap: int) -> None:
    budget = a_budget(20, period=period)
    cache = a_counting_cache(budget)
    over, runs, ends = a_run("over", started=NOON), a_run(started=NOON), a_run("ends", started=NOON)
    put(cache, over, runs, ends, now=NOON + HOUR)
    put(cache, replace(over, ended=NOON + HOUR), now=NOON + HOUR)
    cache.drop_pod("over")
    before = cache.advance(NOON + HOUR)
    put(cache, replace(ends, ended=NOON + HOUR + 20), now=NOON + leap)
    cache.advance(NOON + leap + 60)
    now = NOON + HOUR + 60
    expected = core_seconds((0, HOUR), (0, HOUR + 60), (0, HOUR + 20))
    assert used(cache, budget, now) == expected
    assert not cache.snapshot().usage.budgets.by_queue
    assert cache.advance(now) <= max(before, NOON + 24 * 31 * HOUR)
    assert used(cache, budget, now + HOUR) == expected + core_seconds((0, HOUR))


def test_a_queue_held_by_a_fast_clock_opens_again() -> None:
    cache = a_counting_cache(DAILY)
    put(cache, a_run(started=NOON), now=NOON)
    cache.advance(NOON + 4 * HOUR)
    assert cache.snapshot().usage.budgets.by_queue
    assert cache.advance(NOON + 60) == NOON + 2 * HOUR
    assert not cache.snapshot().usage.budgets.by_queue


def test_a_clock_that_drifted_ahead_is_corrected_at_once() -> None:
    cache = a_counting_cache(DAILY)
    put(cache, a_run(started=NOON), now=NOON)
    for minutes in (119, 120):
        cache.advance(NOON + minutes * 60)
    assert cache.snapshot().usage.budgets.by_queue
    assert cache.advance(NOON + 119 * 60 + 30) == NOON + 2 * HOUR
    assert not cache.snapshot().usage.budgets.by_queue


def test_a_clock_that_visits_another_period_changes_nothing() -> None:
    cache = a_counting_cache(DAILY)
    put(cache, a_run("gone", started=NOON), a_run(started=NOON), now=NOON)
    cache.advance(NOON + 60)
    cache.drop_pod("gone")
    expected = core_seconds((0, 60), (0, 60))
    assert used(cache, DAILY, NOON + 60) == expected
    for ago in (48 * HOUR, 48 * HOUR - 10):
        assert used(cache, DAILY, NOON - ago) < expected
    assert used(cache, DAILY, NOON + 80) == expected + core_seconds((0, 20))


def test_a_fast_clock_at_start_is_corrected_from_the_status() -> None:
    cache = a_cache(queues=[a_cluster_queue(budgets=(DAILY,))])
    cache.budgets.remember("team-a", {"daily": Remembered(DAILY.key, Memory(NOON, {MIDNIGHT: 5000}))})
    put(cache, a_run(started=NOON), now=NOON + 99 * HOUR)
    assert used(cache, DAILY, NOON + 60) == 5000 + core_seconds((0, 60))


@pytest.mark.parametrize("period", [a_calendar("Month"), a_sliding()])
def test_future_times_in_a_status_are_taken_back(period: Period) -> None:
    budget = a_budget(20, period=period)
    cache = a_counting_cache(budget)
    runs, over = a_run(started=NOON), a_run("over", started=NOON, ended=NOON + 60)
    put(cache, runs, over, now=NOON + 5 * HOUR)
    tally = cache.budgets.tally("team-a", budget)
    assert tally is not None
    second = a_counting_cache(now=NOON + 100)
    put(second, runs, over, now=NOON + 100)
    second.budgets.remember("team-a", {budget.name: Remembered(budget.key, tally.memory(NOON + 5 * HOUR))})
    second.set_cluster_queue("team-a", a_cluster_queue(budgets=(budget,)))
    expected = core_seconds((0, 100), (0, 60))
    assert used(second, budget, NOON + 100) == expected
    put(second, a_run("new", started=NOON + 100), now=NOON + 100)
    put(second, replace(runs, ended=NOON + 110), now=NOON + 200)
    assert used(second, budget, NOON + 200) == expected + core_seconds((100, 200), (100, 110))
    assert used(second, budget, NOON + 9 * HOUR) == expected + core_seconds((100, 9 * HOUR), (100, 110))


def test_a_future_memory_without_this_period_is_dropped() -> None:
    memory = Memory(NOON + 60 * 24 * HOUR, {NOON + 54 * 24 * HOUR: 10**9})
    for budget in (DAILY, a_budget(period=a_sliding())):
        cache = a_counting_cache()
        put(cache, a_run(started=NOON - 60), now=NOON)
        cache.budgets.remember("team-a", {"daily": Remembered(budget.key, memory)})
        cache.set_cluster_queue("team-a", a_cluster_queue(budgets=(budget,)))
        assert used(cache, budget, NOON) == core_seconds((0, 60))


def test_a_memory_of_another_period_does_no_harm() -> None:
    for until, start in ((MIDNIGHT - HOUR, MIDNIGHT - 24 * HOUR), (NOON + 99 * HOUR, NOON + 84 * HOUR)):
        cache = a_counting_cache()
        cache.budgets.remember("team-a", {"daily": Remembered(DAILY.key, Memory(until, {start: 5000}))})
        cache.set_cluster_queue("team-a", a_cluster_queue(budgets=(DAILY,)))
        put(cache, a_run(started=NOON), now=NOON)
        assert used(cache, DAILY, NOON + 60) == core_seconds((0, 60))


def test_usage_survives_changes_of_amounts_and_parents() -> None:
    cache = a_counting_cache(DAILY)
    put(cache, a_run(started=NOON), now=NOON)
    cache.advance(NOON + 100)
    cache.drop_pod("run")
    more = a_budget(50)
    cache.advance(NOON + 100)
    cache.set_cluster_queue("org", a_cluster_queue("org", budgets=(DAILY,)))
    cache.set_cluster_queue("team-a", a_cluster_queue(parent="org", budgets=(more,)))
    put(cache, a_run("next", started=NOON + 100), now=NOON + 100)
    assert used(cache, more, NOON + 110) == core_seconds((0, 110))
    assert used(cache, DAILY, NOON + 110, queue="org") == core_seconds((0, 10))


def test_a_new_price_holds_from_when_it_is_seen() -> None:
    budget = a_budget(resource="", amount=money(5))
    cache = a_counting_cache(budget, price={"cpu": read_price(1)})
    put(cache, a_run(started=NOON), now=NOON)
    cache.advance(NOON + HOUR)
    cache.set_flavor("spot", replace(a_flavor(), price={"cpu": read_price(2)}))
    cache.advance(NOON + HOUR)
    assert used(cache, budget, NOON + 2 * HOUR) == money(3)


def test_a_budget_that_is_added_again_starts_at_zero() -> None:
    cache = a_counting_cache(DAILY)
    put(cache, a_run(started=NOON), now=NOON)
    cache.advance(NOON + 60)
    cache.drop_pod("run")
    cache.advance(NOON + 60)
    cache.set_cluster_queue("team-a", a_cluster_queue())
    assert cache.advance(NOON + 60) == FOR_EVER
    cache.set_cluster_queue("team-a", a_cluster_queue(budgets=(DAILY,)))
    assert used(cache, DAILY, NOON + 60) == 0


def test_the_next_change_is_exhaustion_then_the_period_end() -> None:
    cache = a_counting_cache(DAILY)
    assert cache.advance(NOON) == NOON + 12 * HOUR
    put(cache, a_run(started=NOON), now=NOON)
    assert cache.advance(NOON) == NOON + 2 * HOUR
    cache.advance(NOON + 2 * HOUR - 1)
    assert not cache.snapshot().usage.budgets.by_queue
    assert cache.advance(NOON + 2 * HOUR) == NOON + 12 * HOUR
    (one,) = cache.snapshot().usage.budgets.by_queue["team-a"]
    assert (one.budget, one.opens_at) == (DAILY, NOON + 12 * HOUR)
    assert cache.advance(NOON + 12 * HOUR) == NOON + 14 * HOUR
    assert not cache.snapshot().usage.budgets.by_queue


def test_starts_and_ends_wake_the_loop_for_budgets_only() -> None:
    for budgets in ((), (DAILY,)):
        woken: list[int] = []
        cache = a_counting_cache(*budgets, on_change=partial(woken.append, 1))
        put(cache, a_run(started=0), now=NOON)
        woken.clear()
        put(cache, a_run(started=NOON), now=NOON)
        put(cache, a_run(started=NOON), now=NOON)
        assert len(woken) == len(budgets)


def test_budgets_of_several_queues_and_ends_stand_side_by_side() -> None:
    warn, month = a_budget(1, at_end=AtEnd.WARN), a_budget(1, name="month", period=a_calendar("Month"))
    cache = a_counting_cache(warn, month)
    cache.set_cluster_queue("team-b", a_cluster_queue("team-b", budgets=(DAILY,)))
    cache.set_local_queue(("default", "b"), a_local_queue("b", "team-b"))
    b = a_released_pod("b", a_shape(cpu="1"), queue="b", cluster_queue="team-b", node="node-1", started=NOON)
    put(cache, a_run(started=NOON), b, now=NOON)
    cache.advance(NOON + HOUR)
    found = cache.snapshot().usage.budgets.by_queue
    assert {queue: [one.budget for one in ended] for queue, ended in found.items()} == {"team-a": [warn, month]}
    assert used(cache, DAILY, NOON + HOUR, queue="team-b") == core_seconds((0, HOUR))
