"""What a leader waits for before it counts and decides."""

from __future__ import annotations

import asyncio

import pytest

from controller.runtime.controller import Controller
from controller.runtime.status_lane import StatusLane
from controller.telemetry.metrics import ControllerMetrics
from tests.support.fake_client import FakeClient


async def test_statuses_wait_for_the_first_lists_of_all_but_policies(monkeypatch: pytest.MonkeyPatch) -> None:
    counting = asyncio.Event()

    async def run(_: StatusLane) -> None:
        counting.set()

    monkeypatch.setattr(StatusLane, "run", run)
    controller = Controller(FakeClient().as_client, ControllerMetrics(), workers=1, identity="me")
    first, last = controller._informers, controller._pods
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
    assert not any(informer.synced.is_set() for informer in controller._side_informers)


async def test_pods_are_listed_when_all_is_known_that_says_what_becomes_of_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    watching = asyncio.Event()
    controller = Controller(FakeClient().as_client, ControllerMetrics(), workers=1, identity="me")

    async def run() -> None:
        watching.set()

    monkeypatch.setattr(controller._pods, "run", run)
    *first, last = controller._informers
    async with asyncio.TaskGroup() as group:
        group.create_task(controller._watch_pods(), name="pods")
        for informer in first:
            informer.synced.set()
        for _ in range(10):
            await asyncio.sleep(0)
        assert not watching.is_set()
        last.synced.set()
        async with asyncio.timeout(5):
            await watching.wait()
