"""Objects of Penstock's that a test takes away, and that come back when it ends."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import orjson

from controller.kube.client import Client

Json = dict[str, Any]


@asynccontextmanager
async def without(client: Client, *paths: str) -> AsyncIterator[None]:
    """Delete these objects for as long as the block runs."""
    kept = {path: orjson.loads(await client.get(path)) for path in paths}
    for path in paths:
        await client.delete(path)
    try:
        yield
    finally:
        for path, document in kept.items():
            await client.post(path.rpartition("/")[0], _anew(document))


@asynccontextmanager
async def besides(client: Client, path: str, document: Json) -> AsyncIterator[None]:
    """Let there be one more object, below `path`, for as long as the block runs."""
    await client.post(path, document)
    try:
        yield
    finally:
        await client.delete(f"{path}/{document['metadata']['name']}")


def _anew(document: Json) -> Json:
    metadata = {
        name: document["metadata"][name] for name in ("name", "namespace", "labels") if name in document["metadata"]
    }
    return {**{part: one for part, one in document.items() if part != "status"}, "metadata": metadata}
