"""Many objects, created as fast as some clients at once can."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

from controller.kube.client import Client


async def create_all(client: Client, path: str, objects: Iterable[dict[str, Any]], *, at_once: int) -> None:
    """Create all of them in a collection, so many at once."""
    left = iter(objects)

    async def work() -> None:
        for one in left:
            await client.post(path, one)

    async with asyncio.TaskGroup() as group:
        for number in range(at_once):
            group.create_task(work(), name=f"create-{number}")
