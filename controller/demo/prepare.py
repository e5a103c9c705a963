"""Make the demo's objects and wait until pods can be created: queues that admit, namespaces with their account."""

from __future__ import annotations

import asyncio

import msgspec

from controller.core.keys import GROUP, VERSION
from controller.demo import wire
from controller.demo.errors import DemoError
from controller.demo.world import DemoSetup
from controller.kube import clock
from controller.kube.client import Client
from controller.kube.existence import exists

_OURS = f"/apis/{GROUP}/{VERSION}"
_POLL_SECONDS = 0.2
_SECONDS = 30.0

_read = msgspec.json.Decoder(wire.QueueObject).decode


async def until_usable(client: Client, world: DemoSetup) -> None:
    """Wait until the queues admit and the namespaces take pods; raises DemoError with what is not so."""
    trouble = await queues_trouble(client, world, _SECONDS)
    if trouble is not None:
        raise DemoError(f"after {_SECONDS:g} s {trouble}")
    deadline = clock.monotonic() + _SECONDS
    for team in world.teams:
        path = f"/api/v1/namespaces/{world.named(team.name)}/serviceaccounts/default"
        while not await exists(client, path):
            if clock.monotonic() > deadline:
                raise DemoError(
                    f"namespace {world.named(team.name)} has no default ServiceAccount after {_SECONDS:g} s"
                )
            await asyncio.sleep(_POLL_SECONDS)


async def queues_trouble(client: Client, world: DemoSetup, seconds: float) -> str | None:
    """Wait until a controller says of every queue that it admits; return which does not after `seconds`."""
    deadline = clock.monotonic() + seconds
    while True:
        trouble = None
        for team in world.teams:
            trouble = trouble or await _trouble(client, world.named(team.name))
        if trouble is None or clock.monotonic() > deadline:
            return trouble
        await asyncio.sleep(_POLL_SECONDS)


async def _trouble(client: Client, name: str) -> str | None:
    queue = _read(await client.get(f"{_OURS}/clusterqueues/{name}"))
    active = next((one for one in queue.status.conditions or () if one.type == "Active"), None)
    if active is None:
        return f"no controller has said whether ClusterQueue {name} can be used"
    return None if active.status == "True" else f"ClusterQueue {name} cannot be used: {active.message}"
