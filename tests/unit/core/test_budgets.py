"""What a pod uses of a budget in a second, how amounts are told, and what a used-up budget does to its queue."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller.core.budgets.budget import AtEnd, Budget, hours_of, money, read_price
from controller.core.budgets.periods import Period
from controller.core.calendar.durations import format_duration, parse_duration
from controller.core.decision.decide import decide
from controller.core.kubernetes.amounts import QuantityError
from controller.core.quota.quota_tree import QuotaTree
from controller.core.quota.used_up import UsedUp, UsedUpBudgets
from controller.core.reasons import Reason
from controller.core.workloads.workload import ahead
from tests.support.budgets import a_budget, a_calendar, a_sliding
from tests.support.builders import UNLIMITED, a_cluster_queue, a_local_queue, a_pod, a_shape, a_snapshot
from tests.support.snapshots import changed
from tests.support.zones import as_utc, utc

GIB = 2**30


def a_cost(text: str = "100") -> Budget:
    return a_budget(resource="", amount=money(text))


def test_a_budget_of_hours_counts_its_resource_alone() -> None:
    shape = a_shape(cpu="1500m", memory="4Gi")
    assert a_budget().rate(shape.requests, {}) == 1500
    assert a_budget(resource="memory").rate(shape.requests, {}) == 4 * GIB
    assert a_budget(resource="nvidia.com/gpu").rate(shape.requests, {}) == 0


def test_money_is_counted_by_the_core_the_gib_and_the_piece() -> None:
    price = {"cpu": read_price("0.03"), "memory": read_price("0.004"), "example.com/licence": read_price("2")}
    an_hour = a_cost().rate(a_shape(cpu="2", memory="512Mi", **{"example.com/licence": 3}).requests, price) * 3600
    assert an_hour == money("6.062")


def test_the_smallest_request_at_the_smallest_price_is_not_lost() -> None:
    price = {"cpu": read_price("1n"), "memory": read_price("1n"), "example.com/a": read_price("1n")}
    for amounts in ({"cpu": "1m"}, {"memory": 1}, {"example.com/a": 1}):
        assert a_cost().rate(a_shape(**amounts).requests, {**price, "pods": 0}) > 0
    assert sum(a_cost().rate(a_shape(cpu="1m").requests, price) for _ in range(1000)) * 3600 == money("1n")


def test_a_price_is_rounded_up_to_the_billionth() -> None:
    assert [read_price(text) for text in (1, "0.031", "1n", "0.0000000001", "0")] == [10**9, 31_000_000, 1, 1, 0]
    with pytest.raises(QuantityError):
        read_price("dear")


@pytest.mark.parametrize(
    ("budget", "amount", "text"),
    [
        (a_budget(), hours_of("cpu", 2), "2"),
        (a_budget(), hours_of("cpu", "2500m") - 1, "2.499"),
        (a_budget(), 0, "0"),
        (a_budget(resource="memory"), hours_of("memory", "1536Mi"), "1.5Gi"),
        (a_budget(resource="nvidia.com/gpu"), 3600 * 10 + 36, "10.01"),
        (a_cost(), money("12.3456"), "12.345"),
    ],
)
def test_amounts_are_told_in_hours_and_money_to_three_decimals(budget: Budget, amount: int, text: str) -> None:
    assert budget.text(amount) == text


@pytest.mark.parametrize(
    ("budget", "words"),
    [
        (a_budget(1000, period=a_calendar("Month")), "1000 hours of cpu a month"),
        (a_budget(8, period=a_calendar("Week")), "8 hours of cpu a week"),
        (a_budget(8, period=a_sliding(5400)), "8 hours of cpu in any 1h30m"),
        (a_cost("99.5"), "a cost of 99.5 a day"),
    ],
)
def test_a_budget_is_told_with_its_period(budget: Budget, words: str) -> None:
    assert budget.words == words


def test_sums_of_another_rule_are_none() -> None:
    assert a_budget(2).key == a_budget(3, at_end=AtEnd.WARN).key
    periods: list[Period] = [
        a_calendar(),
        a_calendar(place="Asia/Kolkata"),
        a_calendar("Week"),
        a_sliding(),
        a_sliding(9),
    ]
    keys = {one.key for period in periods for one in (a_budget(period=period), a_budget(period=period, resource=""))}
    assert len(keys) == 2 * len(periods)


@pytest.mark.parametrize(
    ("unit", "now", "start", "end"),
    [
        ("Day", "2026-03-04 12:00", "2026-03-03 23:00", "2026-03-04 23:00"),
        ("Week", "2026-03-29 12:00", "2026-03-22 23:00", "2026-03-29 22:00"),
        ("Week", "2026-03-22 23:00", "2026-03-22 23:00", "2026-03-29 22:00"),
        ("Month", "2026-12-31 22:59", "2026-11-30 23:00", "2026-12-31 23:00"),
        ("Month", "2026-12-31 23:00", "2026-12-31 23:00", "2027-01-31 23:00"),
        ("Month", "2028-02-20 00:00", "2028-01-31 23:00", "2028-02-29 23:00"),
    ],
)
def test_a_period_is_one_of_the_calendar_of_its_place(unit: str, now: str, start: str, end: str) -> None:
    found = a_calendar(unit, "Europe/Berlin").slice_of(utc(now))
    assert tuple(map(as_utc, found)) == (start, end)


def test_a_repeated_day_has_begun_the_first_time() -> None:
    """In St. John's clocks were moved from 0:01 back to 23:01."""
    place = a_calendar("Day", "America/St_Johns")
    first = utc("2010-11-07 02:30")
    assert place.slice_of(first) == place.slice_of(first + 1800)
    assert place.slice_of(first)[0] <= first < place.slice_of(first)[1]


@pytest.mark.parametrize("seconds", [1, 59, 60, 3600, 3660, 3661, 86_400])
def test_a_duration_reads_back_as_it_was(seconds: int) -> None:
    assert parse_duration(format_duration(seconds)) == seconds


def test_nothing_is_0s() -> None:
    assert format_duration(0) == "0s"


def used_up(at_end: AtEnd, queue: str = "team-a", *, opens_at: int | None = 0) -> UsedUp:
    return UsedUp(queue, a_budget(at_end=at_end), opens_at)


def test_of_several_budgets_the_last_to_open_is_told() -> None:
    queues = {"org": a_cluster_queue("org"), "team-a": a_cluster_queue(parent="org")}
    tree = QuotaTree(queues)
    mine, above, never = (used_up(AtEnd.HOLD, opens_at=1), used_up(AtEnd.HOLD, "org", opens_at=2), None)
    budgets = UsedUpBudgets({"team-a": [mine, used_up(AtEnd.WARN, opens_at=9)], "org": [above]})
    assert budgets.closing(tree, "team-a") == above
    never = used_up(AtEnd.HOLD, opens_at=None)
    assert UsedUpBudgets({"team-a": [never], "org": [above]}).closing(tree, "team-a") == never
    assert "stays so while all running pods continue" in never.sentence
    assert UsedUpBudgets({"team-a": [mine]}).closing(tree, "org") is None


@pytest.mark.parametrize(
    ("at_end", "order"), [(AtEnd.WARN, ["a", "b"]), (AtEnd.LOWER_PRIORITY, ["b", "a"]), (AtEnd.HOLD, ["b"])]
)
def test_what_becomes_of_the_queue_is_as_the_budget_says(at_end: AtEnd, order: list[str]) -> None:
    snapshot = a_snapshot(
        a_pod("a", queue="a", priority=9),
        a_pod("b", queue="b"),
        queues=[a_cluster_queue("team-a"), a_cluster_queue("team-b")],
        locals_=[a_local_queue("a", "team-a"), a_local_queue("b", "team-b")],
        budgets=UsedUpBudgets({"team-a": [used_up(at_end)]}),
    )
    plan = decide(snapshot, limit=UNLIMITED)
    assert [admit.workload.uid for admit in plan.admits] == order
    assert [wait.reason for wait in plan.waits.values()] == [Reason.BUDGET_EXHAUSTED] * (2 - len(order))


def test_the_rest_of_a_gang_that_has_begun_goes_first() -> None:
    snapshot = a_snapshot(
        a_pod("a", queue="a"),
        a_pod("b", queue="b"),
        queues=[a_cluster_queue("team-a"), a_cluster_queue("team-b")],
        locals_=[a_local_queue("a", "team-a"), a_local_queue("b", "team-b")],
        budgets=UsedUpBudgets({"team-a": [used_up(AtEnd.LOWER_PRIORITY)]}),
    )
    runs = {
        kind: [replace(one, order=ahead(one.order)) if one.uid == "a" else one for one in run]
        for kind, run in snapshot.waiting.runs.items()
    }
    plan = decide(changed(snapshot, runs=runs), limit=UNLIMITED)
    assert [admit.workload.uid for admit in plan.admits] == ["a", "b"]
