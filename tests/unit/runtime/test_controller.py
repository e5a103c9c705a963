"""What a leader waits for before it counts and decides, what it says of its watches, and what it leaves behind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from controller import __main__ as program
from controller.core.queueing.queues import QueueingStrategy
from controller.kube.errors import Unreachable
from controller.runtime import garbage
from controller.runtime.app import _App
from controller.runtime.controller import Controller
from controller.runtime.settings import Settings
from controller.runtime.status_lane import StatusLane
from controller.telemetry.metrics import ControllerMetrics
from tests.support.builders import a_cluster_queue
from tests.support.eventually import eventually
from tests.support.fake_client import FakeClient
from tests.support.releasing import leading


def a_controller() -> Controller:
    return Controller(
        FakeClient().as_client, ControllerMetrics(), workers=1, backfill_depth=1, identity="me", held=leading
    )


async def test_statuses_wait_for_the_first_lists_of_all_but_policies(monkeypatch: pytest.MonkeyPatch) -> None:
    counting = asyncio.Event()

    async def run(_: StatusLane) -> None:
        counting.set()

    monkeypatch.setattr(StatusLane, "run", run)
    controller = Controller(
        FakeClient().as_client, ControllerMetrics(), workers=1, backfill_depth=1, identity="me", held=leading
    )
    first, last = controller._watches.informers, controller._watches.pods
    async with asyncio.TaskGroup() as group:
        group.create_task(controller._report_statuses(), name="statuses")
        for informer in first:
            informer.synced.set()
        for _ in range(10):
            await asyncio.sleep(0)
        assert (counting.is_set(), controller.unsynced()) == (False, f"not listed yet: {last.resource}")
        last.synced.set()
        async with asyncio.timeout(5):
            await counting.wait()
    assert controller.unsynced() is None
    assert not any(informer.synced.is_set() for informer in controller._watches.side_informers)


def test_as_many_have_a_reservation_as_the_option_says(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = list[Settings]()
    monkeypatch.setattr(program, "run", asked.append)
    monkeypatch.setattr(program, "run_program", lambda *_, **__: None)
    program.main(["--backfill-depth", "7"], standalone_mode=False)
    cache = _App(FakeClient().as_client, asked[0])._controller._cache

    for queue in (a_cluster_queue(strategy=QueueingStrategy.BACKFILL), None) * 2:
        cache.set_cluster_queue("team-a", queue)
        forecast = cache.snapshot().running.forecast
        assert (None if forecast is None else forecast.depth) == (None if queue is None else 7)


def test_gangs_keep_places_as_long_as_the_option_says(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = list[Settings]()
    monkeypatch.setattr(program, "run", asked.append)
    monkeypatch.setattr(program, "run_program", lambda *_, **__: None)
    program.main(["--keep-gang-places", "7"], standalone_mode=False)
    assert _App(FakeClient().as_client, asked[0])._controller._cache.gangs.lost.seconds == 7


async def test_pods_are_listed_last(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    watching = asyncio.Event()
    controller = Controller(
        FakeClient().as_client, ControllerMetrics(), workers=1, backfill_depth=1, identity="me", held=leading
    )

    async def run() -> None:
        watching.set()

    monkeypatch.setattr(controller._watches.pods, "run", run)
    *first, last = controller._watches.informers
    async with asyncio.TaskGroup() as group:
        group.create_task(controller._watches.watch_pods(), name="pods")
        for informer in first:
            informer.synced.set()
        for _ in range(10):
            await asyncio.sleep(0)
        assert not watching.is_set()
        last.synced.set()
        async with asyncio.timeout(5):
            await watching.wait()


class Away(FakeClient):
    """An apiserver that nobody reaches."""

    async def get(self, *_: Any, **__: Any) -> bytes:
        raise Unreachable("no route")

    @asynccontextmanager
    async def stream(self, *_: Any, **__: Any) -> AsyncIterator[AsyncIterator[bytes]]:
        raise Unreachable("no route")
        yield


def sources(controller: Controller, metrics: ControllerMetrics) -> dict[str, float]:
    list(controller.refresh_gauges())
    return {
        sample.labels["resource"]: sample.value
        for metric in metrics.registry.collect()
        for sample in metric.samples
        if sample.name == "penstock_source_up"
    }


async def test_a_leader_says_which_watches_are_broken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(garbage, "look_through_all_seldom", lambda: None)
    metrics = ControllerMetrics()
    controller = Controller(Away().as_client, metrics, workers=1, backfill_depth=1, identity="me", held=leading)
    assert sources(controller, metrics) == {}
    stop, abandon = asyncio.Event(), asyncio.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(controller.run(stop, abandon=abandon), name="controller")
        watched = [*controller._watches.informers, *controller._watches.side_informers]
        await eventually(lambda: sources(controller, metrics) == dict.fromkeys((one.resource for one in watched), 0.0))
        abandon.set()
        stop.set()


async def test_used_sums_are_left_only_if_all_was_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    settled: list[float] = []

    async def settle(_: StatusLane, now: float) -> None:
        settled.append(now)

    monkeypatch.setattr(StatusLane, "settle", settle)
    controller = Controller(
        FakeClient().as_client, ControllerMetrics(), workers=1, backfill_depth=1, identity="me", held=leading
    )
    for informer in controller._watches.informers:
        informer.synced.set()
    await controller._finish()
    assert settled == []
    controller._watches.pods.synced.set()
    await controller._finish()
    assert len(settled) == 1
