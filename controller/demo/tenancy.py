"""What a run makes in somebody's cluster: remembered before it is made, and all of it removed at the end.

What was there before is never changed: neither applied over nor deleted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from controller.demo.errors import DemoError
from controller.demo.world import Body
from controller.kube import clock
from controller.kube.apply import apply, delete
from controller.kube.client import Client
from controller.kube.errors import KubeError
from controller.kube.existence import exists

_GONE_SECONDS = 90.0
_POLL_SECONDS = 0.3
_LINGERING = ("Namespace", "CustomResourceDefinition")
"""Kinds that are gone only some time after they are deleted."""


class Tenancy:
    """One run's objects in one cluster."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._batches: list[Sequence[Body]] = []

    async def make(self, documents: Sequence[Body]) -> None:
        """Apply objects that do not exist yet."""
        self._batches.append(documents)
        await apply(self._client, documents)

    async def remove(self) -> None:
        """Delete everything, the last made first, and wait until it is gone.

        Goes on past faults. Raises DemoError with what remains and why.
        """
        faults = []
        for batch in reversed(self._batches):
            try:
                await delete(self._client, batch)
                await self._until_gone([one for one in batch if one["kind"] in _LINGERING])
            except (KubeError, DemoError) as error:
                faults.append(str(error))
        if faults:
            raise DemoError(f"not everything could be removed: {'; '.join(faults)}")

    async def _until_gone(self, documents: Sequence[Body]) -> None:
        deadline = clock.monotonic() + _GONE_SECONDS
        while left := (await split(self._client, documents))[0]:
            if clock.monotonic() > deadline:
                names = ", ".join(f"{one['kind']} {one['metadata']['name']}" for one in left)
                raise DemoError(f"still there {_GONE_SECONDS:g} s after they were deleted: {names}")
            await asyncio.sleep(_POLL_SECONDS)


async def split(client: Client, documents: Sequence[Body]) -> tuple[list[Body], list[Body]]:
    """Return the documents whose objects exist, and those whose objects do not."""
    there: list[Body] = []
    missing: list[Body] = []
    for document in documents:
        side = there if await exists(client, path_of(document)) else missing
        side.append(document)
    return there, missing


def path_of(document: Body) -> str:
    """Return the path of an object."""
    api_version, metadata = document["apiVersion"], document["metadata"]
    root = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
    within = f"/namespaces/{metadata['namespace']}" if "namespace" in metadata else ""
    return f"{root}{within}/{plural(document['kind']).lower()}/{metadata['name']}"


def plural(kind: str) -> str:
    """Return the plural of a kind, by a rule that holds for all that Penstock ships and the demo makes."""
    return f"{kind}es" if kind.endswith("s") else f"{kind}s"
