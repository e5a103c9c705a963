"""Wait until objects are there, or there no more."""

from __future__ import annotations

from functools import partial

from controller.kube.client import Client
from controller.kube.existence import exists
from tests.support.eventually import eventually


async def until_gone(client: Client, path: str, *, seconds: float = 40) -> None:
    """Wait until what was deleted is gone: its finalizers may take a while, and until then its name is taken."""

    async def is_gone() -> bool:
        return not await exists(client, path)

    await eventually(is_gone, seconds=seconds, message=f"{path} is not gone")


async def until_takes_pods(client: Client, namespace: str) -> None:
    """Wait until a new namespace has the ServiceAccount that pods need."""
    account = f"/api/v1/namespaces/{namespace}/serviceaccounts/default"
    await eventually(partial(exists, client, account), message=f"namespace {namespace} has no default ServiceAccount")
