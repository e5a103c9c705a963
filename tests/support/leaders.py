"""Who holds the controller's Lease, and what a test does to it."""

from __future__ import annotations

from contextlib import suppress

import orjson

from controller.kube.client import Client
from controller.kube.errors import NotFound
from controller.sandbox.installation import NAMESPACE
from controller.sandbox.programs import Program
from tests.support.eventually import eventually

LEASE = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/penstock-controller"


async def holder(client: Client) -> str:
    """The identity in the Lease; empty where nobody holds it, or there is none."""
    try:
        return str(orjson.loads(await client.get(LEASE))["spec"]["holderIdentity"])
    except NotFound:
        return ""


async def until_leads(client: Client, name: str) -> str:
    """Wait until a controller of this name holds the Lease; return its identity."""

    async def found() -> str:
        identity = await holder(client)
        assert identity.startswith(f"{name}_"), identity
        return identity

    return await eventually(found, message=f"{name} does not lead")


async def delete_lease(client: Client) -> None:
    with suppress(NotFound):
        await client.delete(LEASE)


async def crash(controller: Program, client: Client) -> None:
    """Kill a controller. The next one need not wait until the Lease ends, but for what was sent all the same."""
    controller.kill()
    await delete_lease(client)
