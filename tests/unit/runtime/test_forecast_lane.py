"""Forecasts beside the decisions: worked out in a copy, shown, compared with releases, and kept to their share."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from msgspec import json

from controller.cache.cluster import ClusterCache
from controller.core.workloads.decisions import Admit
from controller.forking import ForkError, Forks
from controller.kube import clock
from controller.runtime.executor import Released
from controller.runtime.forecast_lane import ForecastLane, Round, forecast_lane, forecast_round
from controller.telemetry.metrics import ControllerMetrics
from controller.visibility.start_forecasts import StartForecasts
from tests.support.builders import a_cache, a_pod, a_released_pod, a_shape, decided
from tests.support.eventually import eventually

THREE = a_shape(cpu="3")


def a_full_node(*waiting: str) -> ClusterCache:
    """One pod runs for ten minutes; the others wait for its end."""
    now = clock.now()
    runs = a_released_pod("runs", THREE, node="node-1", started=int(now) - 60, expected_runtime=600)
    pods = [a_pod(name, THREE, created=now - 30 + at, expected_runtime=600) for at, name in enumerate(waiting)]
    cache = a_cache(runs, *pods)
    decided(cache)
    return cache


class NoForks(Forks):
    """Fails, and counts how often it is asked."""

    def __init__(self) -> None:
        super().__init__(1)
        self.asked = 0

    async def run(self, work: Callable[[], bytes], *, seconds: float, cpu_seconds: int) -> bytes:
        self.asked += 1
        raise ForkError("memory is short")


@asynccontextmanager
async def forecasting(cache: ClusterCache, forks: Forks) -> AsyncIterator[tuple[ForecastLane, StartForecasts]]:
    book = StartForecasts()
    lane = ForecastLane(cache, ControllerMetrics(), book, share=0.1, forks=forks)
    async with asyncio.TaskGroup() as group:
        running = group.create_task(lane.run(), name="forecasts")
        yield lane, book
        running.cancel()


async def test_all_that_wait_are_forecast_and_nothing_is_changed() -> None:
    cache = a_full_node("first", "second")
    async with forecasting(cache, Forks(1)) as (_, book):
        await eventually(lambda: book.latest)
        assert set(book.latest) == {"first", "second"}
        row = book.row("first")
    assert row is not None
    assert clock.now() < clock.epoch(row.p20) <= clock.epoch(row.p90) <= clock.now() + 600
    assert set(cache.pods) == {"runs", "first", "second"}


async def test_a_release_is_counted_by_where_it_lay() -> None:
    cache, metrics, book = a_full_node("first"), ControllerMetrics(), StartForecasts()
    lane = ForecastLane(cache, metrics, book, share=0.1, forks=Forks(1))
    found = json.decode(forecast_round(cache, clock.now, 10.0), type=Round)
    assert (found.simulations, list(found.unknown)) == (20, [])
    book.take(found.etas, clock.now())
    workload = cache.backlog.of_pod("first")
    assert workload is not None
    for uid in ("first", "unforeseen"):
        admit = Admit(uid, workload, "team-a", "spot", node=None)
        lane.released(Released(replace(cache.pods["first"], uid=uid), admit))
    counted = {"cluster_queue": "team-a", "range": "before"}
    assert metrics.registry.get_sample_value("penstock_forecast_starts_total", counted) == 1
    assert book.accuracy()["team-a"].starts == 1
    at_most = {edge: {"cluster_queue": "team-a", "le": edge} for edge in ("0.0", "+Inf")}
    errors = [
        metrics.registry.get_sample_value("penstock_forecast_error_seconds_bucket", one) for one in at_most.values()
    ]
    assert errors == [1, 1]


async def test_after_each_round_it_is_told_that_there_is_news() -> None:
    book = StartForecasts()
    planned: list[dict[str, int]] = []
    lane = forecast_lane(
        a_full_node("first"), ControllerMetrics(), book, share=0.1, on_round=lambda: planned.append(book.planned())
    )
    assert lane is not None
    async with asyncio.TaskGroup() as group:
        running = group.create_task(lane.run(), name="forecasts")
        await eventually(lambda: planned)
        running.cancel()
    assert set(planned[0]) == {"first"}


async def test_a_round_that_fails_is_counted_and_comes_again_late() -> None:
    forks = NoForks()
    async with forecasting(a_full_node("first"), forks) as (_, book):
        await eventually(lambda: forks.asked)
        assert book.latest == {}
    assert forks.asked == 1


async def test_where_nobody_waits_nothing_is_worked_out() -> None:
    forks = NoForks()
    async with forecasting(a_full_node(), forks) as (_, book):
        await eventually(lambda: book.at)
    assert forks.asked == 0


def test_a_round_ends_when_its_time_is_used_up() -> None:
    found = json.decode(forecast_round(a_full_node("first"), clock.now, 0.0), type=Round)
    assert found.simulations == 1
    assert set(found.etas) == {"first"}


async def test_while_nobody_reads_forecasts_none_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("controller.runtime.forecast_lane.LEAST_SECONDS", 0.01)
    forks, is_wanted, asked = NoForks(), False, 0

    def wanted() -> bool:
        nonlocal asked
        asked += 1
        return is_wanted

    lane = ForecastLane(
        a_full_node("first"), ControllerMetrics(), StartForecasts(), share=0.1, forks=forks, wanted=wanted
    )
    async with asyncio.TaskGroup() as group:
        running = group.create_task(lane.run(), name="forecasts")
        await eventually(lambda: asked > 3)
        assert forks.asked == 0
        is_wanted = True
        await eventually(lambda: forks.asked > 0)
        running.cancel()
