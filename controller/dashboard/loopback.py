"""The page on this machine alone, by a kubeconfig."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Final

from controller.dashboard.files import Files
from controller.dashboard.one_viewer import OneViewer
from controller.dashboard.server import Dashboard
from controller.kube import config
from controller.kube.client import Client
from controller.telemetry.http import Address, serving

HOST: Final = "127.0.0.1"
_NAMES: Final = (HOST, "localhost")


@asynccontextmanager
async def opened(port: int, kubeconfig: str | None = None, context: str | None = None) -> AsyncIterator[str]:
    """Serve the page while the block runs; yields the address to open. `port` 0: a free one.

    Raises NotBuilt, KubeError and AddressError.
    """
    files = Files.read()
    load = partial(config.load, kubeconfig, context)
    async with Client(await load(), user_agent="penstock-dashboard", reload=load) as client:
        viewers = OneViewer(client)
        page = Dashboard(
            viewers,
            files,
            cluster=client.url,
            namespace=config.namespace(kubeconfig, context),
            # any port: whoever forwards it from another machine may choose another
            is_ours=lambda name: name in _NAMES,
        )
        async with page.app() as app, serving(app, Address(HOST, port)) as address:
            yield viewers.address(HOST, address.port)
