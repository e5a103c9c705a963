"""What a ClusterQueue's status says of its budgets, how often it is written, and what is told of their ends."""

from __future__ import annotations

from typing import Any

from controller.cache.cluster import ClusterCache
from controller.cache.written import Written
from controller.core.budgets.budget import AtEnd
from controller.core.budgets.tally import Memory
from controller.kube.errors import Conflict, Forbidden
from controller.objects.budgets import Remembered, read_sums
from controller.objects.read import Entry
from controller.runtime.queue_status import cluster_queue_status
from controller.runtime.status_lane import StatusLane
from controller.telemetry.metrics import ControllerMetrics
from tests.support.budgets import NOON, a_budget, a_counting_cache, a_run, a_sliding, put
from tests.support.builders import a_cluster_queue
from tests.support.fake_client import FakeClient
from tests.support.fake_time import FakeTime

HOUR = 3600
DAILY = a_budget()
SUMS = {"counts": "cpu/Day/UTC", "periodStart": "2026-03-04T00:00:00Z", "periodEnd": "2026-03-05T00:00:00Z"}


def an_entry(status: dict[str, Any] | None = None) -> Entry:
    return Entry(("", "team-a"), "u", 1, status or {})


def said(cache: ClusterCache, now: int, standing: dict[str, Any] | None = None) -> dict[str, Any]:
    cache.advance(now)
    return cluster_queue_status(cache, an_entry(standing), now)


def running() -> ClusterCache:
    cache = a_counting_cache(DAILY)
    put(cache, a_run(started=NOON), now=NOON)
    return cache


def test_usage_period_and_forecast_stand_beside_the_sums() -> None:
    (budget,) = said(running(), NOON + HOUR)["budgets"]
    assert budget == {
        **SUMS,
        "name": "daily",
        "used": "1",
        "amount": "2",
        "exhausted": False,
        "runsOutAt": "2026-03-04T14:00:00Z",
        "countedUntil": "2026-03-04T13:00:00Z",
        "slices": [{"since": "2026-03-04T00:00:00Z", "amount": "3600000"}],
    }


def test_no_forecast_is_beyond_the_period_or_of_what_is_used() -> None:
    cache = a_counting_cache(a_budget(13))
    put(cache, a_run(started=NOON), now=NOON)
    assert "runsOutAt" not in said(cache, NOON)["budgets"][0]
    (ended,) = said(running(), NOON + 3 * HOUR)["budgets"]
    assert (ended["used"], ended["exhausted"], "runsOutAt" in ended) == ("3", True, False)


def test_a_sliding_budget_foretells_and_has_no_end() -> None:
    sliding = a_budget(period=a_sliding())
    cache = a_counting_cache(sliding)
    put(cache, a_run(started=NOON), now=NOON)
    (budget,) = said(cache, NOON + HOUR)["budgets"]
    assert budget["runsOutAt"] == "2026-03-04T14:00:00Z"
    assert "periodEnd" not in budget
    assert budget["slices"] == [{"since": "2026-03-04T12:00:00Z", "amount": "3600000"}]


def test_it_is_written_anew_after_a_minute_at_most() -> None:
    cache = running()
    first = said(cache, NOON + 10)
    assert said(cache, NOON + 69, first)["budgets"] == first["budgets"]
    assert said(cache, NOON + 70, first)["budgets"] != first["budgets"]


def test_what_no_longer_grows_is_not_written_anew() -> None:
    cache = running()
    put(cache, a_run(started=NOON, ended=NOON + 5), now=NOON + 10)
    first = said(cache, NOON + 10)
    assert said(cache, NOON + 9 * HOUR, first)["budgets"] == first["budgets"]


def test_an_end_and_a_new_amount_are_written_at_once() -> None:
    cache = running()
    first = said(cache, NOON + 2 * HOUR - 1)
    ended = said(cache, NOON + 2 * HOUR, first)
    assert ended["budgets"][0]["exhausted"]
    cache.set_cluster_queue("team-a", a_cluster_queue(budgets=(a_budget(9),)))
    assert said(cache, NOON + 2 * HOUR, ended)["budgets"][0]["amount"] == "9"
    late = said(cache, NOON + 12 * HOUR - 1)
    assert said(cache, NOON + 12 * HOUR, late)["budgets"][0]["used"] == "0"


def test_a_status_of_a_clock_ahead_of_ours_is_put_right() -> None:
    cache = running()
    ahead = said(cache, NOON + HOUR)
    ahead["budgets"][0] |= {"countedUntil": "2026-03-04T20:00:00Z"}
    ahead["budgets"][0]["slices"][0]["amount"] = "1"
    assert said(cache, NOON + HOUR, ahead)["budgets"] != ahead["budgets"]


def test_so_is_one_that_says_the_same_for_it_is_not_so_yet() -> None:
    cache = running()
    put(cache, a_run(started=NOON, ended=NOON + 5), now=NOON + 10)
    ahead = said(cache, NOON + 10)
    ahead["budgets"][0] |= {"countedUntil": "2026-03-04T20:00:00Z"}
    assert said(cache, NOON + HOUR, ahead)["budgets"][0]["countedUntil"] == "2026-03-04T13:00:00Z"


def test_sums_stay_while_the_queue_cannot_be_counted() -> None:
    cache = running()
    cache.set_cluster_queue("team-a", None, fault="spec.parent: bad")
    assert "budgets" not in said(cache, NOON)
    cache.set_cluster_queue("team-a", a_cluster_queue(budgets=(DAILY,)))
    assert "budgets" not in cluster_queue_status(cache, an_entry(), NOON)
    cache.set_cluster_queue("team-a", a_cluster_queue())
    assert said(cache, NOON)["budgets"] == []


def test_what_a_status_keeps_is_read_back_without_odd_entries() -> None:
    (budget,) = said(running(), NOON + HOUR)["budgets"]
    odd: list[Any] = [{"name": "x"}, {**budget, "name": "y", "slices": [{"since": "soon"}]}, {**budget, "counts": None}]
    found = read_sums({"budgets": [*odd[:2], "junk", budget]})
    start = NOON - 12 * HOUR
    assert found == {"daily": Remembered(DAILY.key, Memory(NOON + HOUR, {start: 3_600_000}))}
    assert read_sums({}) == read_sums({"budgets": None}) == {}


async def test_the_end_of_a_budget_is_told_once_by_an_event(time: FakeTime) -> None:
    cache = a_counting_cache(a_budget(at_end=AtEnd.WARN))
    put(cache, a_run(started=NOON), now=NOON)
    entries = {("", "team-a"): an_entry(said(cache, NOON))}
    client = FakeClient().will("PATCH", *[b"{}"] * 3).will("POST", Conflict(409, "", ""), Forbidden(403, "", ""))
    lane = StatusLane(client.as_client, cache, Written(cluster_queues=entries), ControllerMetrics(), instance="me")
    for now in (NOON + 2 * HOUR, NOON + 2 * HOUR + 5):
        cache.advance(now)
        time.now = now
        await lane.round(now)
    first, second = client.made("POST")
    # the first write was not seen back: the same Event again, by its name
    assert first.path == second.path == "/api/v1/namespaces/default/events"
    assert first.body["metadata"]["name"] == second.body["metadata"]["name"]
    assert (first.body["type"], first.body["reason"]) == ("Warning", "BudgetExhausted")
    assert first.body["message"] == (
        "budget daily of ClusterQueue team-a, 2 hours of cpu a day, is used up; it opens again at "
        "2026-03-05T00:00:00Z: nothing follows from that"
    )
    entries["", "team-a"] = an_entry(said(cache, NOON + 2 * HOUR + 5))
    cache.advance(NOON + 3 * HOUR)
    time.now = NOON + 3 * HOUR
    await lane.round(NOON + 3 * HOUR)
    assert len(client.made("POST")) == 2


async def test_who_stops_leaves_what_is_used_up_to_then() -> None:
    cache = running()
    entries = {("", "team-a"): an_entry(said(cache, NOON + 10)), ("", "other"): Entry(("", "other"), "o", 1, {})}
    client = FakeClient().will("PATCH", b"{}")
    lane = StatusLane(client.as_client, cache, Written(cluster_queues=entries), ControllerMetrics(), instance="me")
    await lane.settle(NOON + 30)
    (call,) = client.calls
    (budget,) = call.body["status"].pop("budgets")
    assert (budget["countedUntil"], budget["slices"][0]["amount"]) == ("2026-03-04T12:00:30Z", "30000")
    assert call.body == {"status": {}}
    entries["", "team-a"] = an_entry({"budgets": [budget]})
    await lane.settle(NOON + 30)
    assert len(client.calls) == 1
