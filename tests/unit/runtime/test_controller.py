"""What a leader waits for before it counts and decides, what it says of its watches, and what it leaves behind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from controller import __main__ as program
from controller.cache.kinds import OURS, PODS
from controller.core.queueing.queues import QueueingStrategy
from controller.kube.errors import Unreachable
from controller.runtime import garbage
from controller.runtime.app import App
from controller.runtime.controller import Controller
from controller.runtime.settings import Settings
from controller.runtime.status_lane import StatusLane
from controller.telemetry.metrics import ControllerMetrics
from tests.support.builders import a_cluster_queue
from tests.support.controllers import a_controller, some_watches
from tests.support.eventually import eventually
from tests.support.fake_client import FakeClient
from tests.support.fake_kinds import FakeKinds
from tests.support.fake_time import turns

NODES = "/api/v1/nodes"
POLICIES = [f"{OURS}/{kind}policies" for kind in ("clusterpodscheduling", "podscheduling", "scheduling")]


@pytest.fixture(autouse=True)
def untouched(monkeypatch: pytest.MonkeyPatch) -> None:
    """A leader sets how seldom this process looks for garbage."""
    monkeypatch.setattr(garbage, "look_through_all_seldom", lambda: None)


@pytest.fixture
def counting(monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Set once statuses are counted; none are written."""
    begun = asyncio.Event()

    async def run(_: StatusLane) -> None:
        begun.set()

    monkeypatch.setattr(StatusLane, "run", run)
    return begun


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """When the sums of usage were left to the next leader; epoch seconds."""
    found: list[float] = []

    async def settle(_: StatusLane, now: float) -> None:
        found.append(now)

    monkeypatch.setattr(StatusLane, "settle", settle)
    return found


def held_back(*paths: str) -> FakeKinds:
    """Lists nothing; not even that at these paths, until their events are set."""
    client = FakeKinds()
    client.held = {path: asyncio.Event() for path in paths}
    return client


@asynccontextmanager
async def running(controller: Controller) -> AsyncIterator[None]:
    """Ends it in order."""
    stop = asyncio.Event()
    async with asyncio.TaskGroup() as group, asyncio.timeout(20):
        group.create_task(controller.run(stop, abandon=asyncio.Event()), name="controller")
        try:
            yield
        finally:
            stop.set()


def app_of(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> App:
    asked = list[Settings]()
    monkeypatch.setattr(program, "run", asked.append)
    monkeypatch.setattr(program, "run_program", lambda *_, **__: None)
    program.main(list(arguments), standalone_mode=False)
    return App(FakeClient().as_client, asked[0])


async def test_statuses_wait_for_the_first_lists_of_all_but_policies(
    counting: asyncio.Event, settled: list[float]
) -> None:
    client = held_back(PODS, *POLICIES)
    controller = a_controller(client)
    async with running(controller):
        await eventually(lambda: PODS in client.asked)
        await turns(10)
        assert (counting.is_set(), controller.unsynced()) == (False, "not listed yet: pods")
        client.held[PODS].set()
        await counting.wait()
        assert controller.unsynced() is None
        assert {*POLICIES} <= {*client.asked}
    assert len(settled) == 1


async def test_used_sums_are_left_only_if_all_was_listed(counting: asyncio.Event, settled: list[float]) -> None:
    client = held_back(PODS)
    async with running(a_controller(client)):
        await eventually(lambda: PODS in client.asked)
    assert (settled, counting.is_set()) == ([], False)


def test_as_many_have_a_reservation_as_the_option_says(monkeypatch: pytest.MonkeyPatch) -> None:
    cache = app_of(monkeypatch, "--backfill-depth", "7").controller.cache
    for queue in (a_cluster_queue(strategy=QueueingStrategy.BACKFILL), None) * 2:
        cache.set_cluster_queue("team-a", queue)
        forecast = cache.snapshot().running.forecast
        assert (None if forecast is None else forecast.depth) == (None if queue is None else 7)


def test_gangs_keep_places_as_long_as_the_option_says(monkeypatch: pytest.MonkeyPatch) -> None:
    assert app_of(monkeypatch, "--keep-gang-places", "7").controller.cache.gangs.lost.seconds == 7


async def test_pods_are_listed_last(counting: asyncio.Event, settled: list[float]) -> None:
    client = held_back(NODES)
    async with running(a_controller(client)):
        await eventually(lambda: NODES in client.asked)
        await turns(10)
        assert PODS not in client.asked
        client.held[NODES].set()
        await counting.wait()
        assert client.asked.index(PODS) > client.asked.index(NODES)
    assert len(settled) == 1


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


async def test_a_leader_says_which_watches_are_broken() -> None:
    metrics = ControllerMetrics()
    controller = a_controller(Away(), metrics)
    assert sources(controller, metrics) == {}
    like_its_own = some_watches(Away())
    # pods are listed last
    watched = [*like_its_own.informers, *like_its_own.side_informers]
    async with running(controller):
        await eventually(lambda: sources(controller, metrics) == dict.fromkeys((one.resource for one in watched), 0.0))
