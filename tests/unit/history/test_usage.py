"""Sums over a period are those of a direct computation, to the second."""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import replace

import pytest

from controller.core.budgets.budget import rate_of_cost
from controller.history.recorder import Change
from controller.history.runs import ChargedTo, Run
from controller.history.store import Store
from controller.history.usage import usage
from controller.history.usage_columns import Span, UsageColumn, read_by
from tests.support.histories import CHARGED, a_change, a_run

MONTH = 31 * 86_400
_VALUES = {
    UsageColumn.NAMESPACE: lambda one: one.namespace,
    UsageColumn.LOCAL_QUEUE: lambda one: one.local_queue,
    UsageColumn.CLUSTER_QUEUE: lambda one: one.cluster_queue,
    UsageColumn.FLAVOR: lambda one: one.flavor,
    UsageColumn.USER: lambda one: one.user,
}


def drawn_runs(seed: int) -> list[Run]:
    """Some hundred runs around a month: ended, going on, not begun."""
    chance = random.Random(seed)  # noqa: S311 - the same worlds each time
    makes = [
        ChargedTo(
            chance.choice(("one", "two")),
            chance.choice(("main", "other")),
            chance.choice(("team-a", "team-b")),
            chance.choice(("spot", "on-demand")),
            chance.choice(("ann", "bob", "")),
            (("cpu", chance.randrange(1, 9_000)), ("memory", chance.randrange(2**40)), ("pods", 1)),
            (("cpu", chance.randrange(10**9)), ("memory", chance.randrange(10**9))),
        )
        for _ in range(12)
    ]
    found = []
    for number in range(400):
        started = chance.choice((0, chance.randrange(-MONTH, 2 * MONTH)))
        ended = chance.choice((0, started + chance.randrange(MONTH))) if started else 0
        found.append(a_run(f"run-{number}", chance.choice(makes), started=max(0, started), ended=max(0, ended)))
    return found


def second_by_second(run: Run, period: Span, now: int) -> int:
    """For how many seconds of a period a run has run."""
    return len(range(max(run.started, period.begin), min(run.ended or now, period.end, now))) if run.started else 0


@pytest.mark.parametrize("seed", range(8))
def test_usage_is_that_of_a_direct_computation(store: Store, seed: int) -> None:
    chance, runs = random.Random(seed), drawn_runs(seed)  # noqa: S311
    store.write([Change(one, {}) for one in runs])
    for _ in range(6):
        begin = chance.randrange(MONTH)
        period, now = Span(begin, begin + chance.randrange(1, MONTH)), chance.randrange(1, 2 * MONTH)
        by = chance.sample(list(UsageColumn), chance.randrange(4))
        where = {column: ["one", "team-a", "ann"] for column in chance.sample(list(UsageColumn), chance.randrange(2))}
        expected: dict[tuple[str, ...], tuple[int, dict[str, int], int]] = {}
        for one in runs:
            seconds = second_by_second(one, period, now)
            made = one.charged_to
            if not seconds or any(_VALUES[column](made) not in those for column, those in where.items()):
                continue
            key = tuple(_VALUES[column](made) for column in by)
            total, amounts, cost = expected.get(key, (0, defaultdict(int), 0))
            for resource, amount in made.requests:
                amounts[resource] += amount * seconds
            cost += rate_of_cost(made.requests, dict(made.price)) * seconds
            expected[key] = (total + seconds, amounts, cost)
        found = usage(store, period, by, where, now=now)
        assert {key: (one.seconds, one.amounts, one.cost) for key, one in found.items()} == expected


def test_a_run_that_goes_on_has_run_until_now(store: Store) -> None:
    store.write([a_change(started=1000)])
    assert usage(store, Span(0, 9000), [], {}, now=1600)[()].seconds == 600
    assert usage(store, Span(0, 1500), [], {}, now=1600)[()].seconds == 500
    assert usage(store, Span(0, 9000), [], {}, now=900) == {}


def test_an_hour_of_two_cores_is_two_core_hours(store: Store) -> None:
    store.write([a_change(started=1000, ended=4600)])
    ((key, found),) = usage(store, Span(0, 9000), [UsageColumn.USER], {}, now=9000).items()
    assert (key, found.runs, found.amounts["cpu"] // 3600) == (("ann",), 1, 2000)
    assert found.cost == rate_of_cost(CHARGED.requests, dict(CHARGED.price)) * 3600


def test_labels_are_what_it_is_summed_by(store: Store) -> None:
    """A label that a pod does not have is empty; runs with other labels are no others."""
    makes = {"a": (("app", "x"), ("team", "one")), "b": (("team", "one"),), "c": (("team", "two"),), "d": ()}
    for name, labels in makes.items():
        store.write([a_change(name, charged_to=replace(CHARGED, labels=labels), started=1000, ended=4600)])

    def used(*by: str) -> dict[tuple[str, ...], int]:
        return {key: one.runs for key, one in usage(store, Span(0, 9000), by, {}, now=9000).items()}

    assert used("label:team") == {("",): 1, ("one",): 2, ("two",): 1}
    assert used("label:app", "user") == {("", "ann"): 3, ("x", "ann"): 1}
    assert used("user") == {("ann",): 4}


@pytest.mark.parametrize("text", ["label:", "label:a b", "team", ""])
def test_what_nothing_can_be_summed_by_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        read_by(text)


def test_what_has_not_begun_uses_nothing(store: Store) -> None:
    waiting = replace(CHARGED, cluster_queue="", flavor="", price=())
    store.write([a_change(charged_to=waiting)])
    assert usage(store, Span(0, 9000), list(UsageColumn), {}, now=9000) == {}
