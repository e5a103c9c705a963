"""Whether the apiserver has something."""

from __future__ import annotations

from controller.kube.client import Client
from controller.kube.errors import NotFound


async def exists(client: Client, path: str) -> bool:
    """Whether there is something at the path. Raises KubeError but for NotFound."""
    try:
        await client.get(path)
    except NotFound:
        return False
    return True
