"""Whether an object is there no more."""

from __future__ import annotations

from functools import partial

from controller.kube.client import Client
from controller.kube.errors import NotFound
from tests.support.eventually import eventually


async def is_gone(client: Client, path: str) -> bool:
    """Whether the apiserver has nothing at the path."""
    try:
        await client.get(path)
    except NotFound:
        return True
    return False


async def until_gone(client: Client, path: str) -> None:
    """Wait until what was deleted is gone: its finalizers may take a while, and until then its name is taken."""
    await eventually(partial(is_gone, client, path), seconds=90, message=f"{path} is not gone")
