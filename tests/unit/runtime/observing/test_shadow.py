"""What a shadow says of itself: whether it is ready, and which watches it has; and that it ends when it is told to."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from controller.kube.errors import Unreachable
from controller.kube.lease import Election
from controller.runtime import garbage
from controller.runtime.observing.shadow import Shadow
from controller.runtime.settings import Settings
from controller.telemetry.http import Address
from controller.telemetry.metrics import ControllerMetrics
from tests.support.eventually import eventually
from tests.support.fake_client import FakeClient

SETTINGS = Settings(
    kubeconfig=None,
    context=None,
    address=Address("127.0.0.1", 0),
    visibility=None,
    workers=1,
    backfill_depth=1,
    keeps_places=60,
    election=Election(namespace="penstock-system", name="penstock-controller", identity="me", seconds=15),
)


class Away(FakeClient):
    """An apiserver that nobody reaches."""

    async def get(self, *_: Any, **__: Any) -> bytes:
        raise Unreachable("no route")

    @asynccontextmanager
    async def stream(self, *_: Any, **__: Any) -> AsyncIterator[AsyncIterator[bytes]]:
        raise Unreachable("no route")
        yield


async def test_a_shadow_is_not_ready_before_all_is_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(garbage, "look_through_all_seldom", lambda: None)
    metrics = ControllerMetrics()
    shadow = Shadow(Away().as_client, metrics, SETTINGS)

    def sources() -> set[str]:
        list(shadow.refresh_gauges())
        samples = (one for metric in metrics.registry.collect() for one in metric.samples)
        return {one.labels["resource"] for one in samples if one.name == "penstock_source_up"}

    stop = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(shadow.run(stop), name="shadow")
        await eventually(lambda: "clusterqueues" in sources())
        assert (shadow.unsynced() or "").startswith("not listed yet: namespaces, nodes, resourceflavors, clusterqueues")
        assert shadow.stalled() is None
        stop.set()
