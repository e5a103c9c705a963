"""The API as a whole: made, served and kept up for as long as a block runs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from controller.extension_api.authorization import Authorizer
from controller.extension_api.pacing import Turns
from controller.extension_api.resources import Registry
from controller.extension_api.server import ExtensionApi
from controller.extension_api.trust import Trust
from controller.kube import clock
from controller.kube.client import Client
from controller.telemetry import http
from controller.telemetry.http import Address


@asynccontextmanager
async def served(
    client: Client,
    registry: Callable[[], Registry],
    address: Address,
    *,
    turns: Turns,
    namespace: str,
    unsynced: Callable[[], str | None],
) -> AsyncIterator[Address]:
    """Serve these resources, as they are when somebody asks; yields the address with its real port.

    `turns` are those of what the resources do. `namespace` has the Service that leads here. `unsynced` says why nothing
    is known yet; None when all is. Raises AddressError when the address cannot be listened on.
    """
    trust = Trust(client, namespace)
    authorizer = Authorizer(client, clock.monotonic)
    api = ExtensionApi(registry, authorizer, turns=turns, front_proxy=trust.front_proxy, unsynced=unsynced)
    async with http.serving(api.app(), address, tls=trust) as bound, asyncio.TaskGroup() as group:
        keeping = group.create_task(trust.keep(), name="visibility")
        yield bound
        keeping.cancel()
