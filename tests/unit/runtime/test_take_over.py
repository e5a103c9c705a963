"""A controller takes over what the watches of a standby have kept, whole or not at all."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from controller.cache.kinds import OURS, PODS
from controller.runtime.watches import Watches
from tests.support import api_objects
from tests.support.controllers import a_controller, some_watches
from tests.support.fake_client import FakeClient
from tests.support.fake_kinds import FakeKinds
from tests.support.fake_time import turns
from tests.support.pod_documents import a_pod_document


def some_hundred_pods() -> FakeKinds:
    """And a queue for them."""
    return FakeKinds(
        {
            PODS: [a_pod_document(f"p{number:03}") for number in range(250)],
            f"{OURS}/clusterqueues": [api_objects.cluster_queue()],
            f"{OURS}/resourceflavors": [api_objects.resource_flavor()],
            f"{OURS}/localqueues": [api_objects.local_queue()],
        }
    )


@asynccontextmanager
async def a_standby(client: FakeClient) -> AsyncIterator[Watches]:
    """Watches that keep what they have listed."""
    watches = some_watches(client, keeps=True)
    async with asyncio.TaskGroup() as group:
        tasks = watches.start(group)
        async with asyncio.timeout(20):
            await watches.listed()
        yield watches
        for task in tasks:
            task.cancel()


async def test_what_a_standby_knows_is_known_to_the_leader() -> None:
    client = some_hundred_pods()
    async with a_standby(client) as watches:
        before = watches.cache
        controller = a_controller(client)
        assert (controller.unsynced() or "").startswith("not listed yet")
        await watches.caught_up()
        await controller.take_over(watches)
        assert controller.unsynced() is None
        assert controller.cache.pods == before.pods
        assert set(controller.cache.cluster_queues) == {"team-a"}
        assert len(controller.cache.backlog) == 250


async def test_half_of_what_a_standby_knows_counts_as_nothing() -> None:
    client = some_hundred_pods()
    async with a_standby(client) as watches:
        controller = a_controller(client)
        async with asyncio.TaskGroup() as group:
            taking = group.create_task(controller.take_over(watches), name="take-over")
            for _ in range(50):
                if controller.cache.pods:
                    break
                await turns(1)
            assert 0 < len(controller.cache.pods) < 250
            taking.cancel()
        assert (controller.unsynced() or "").startswith("not listed yet")


async def test_watches_that_keep_nothing_hand_nothing_over() -> None:
    watches = some_watches(some_hundred_pods())
    with pytest.raises(AssertionError, match="keep nothing"):
        await a_controller(some_hundred_pods()).take_over(watches)
