"""Objects of Penstock itself in a cluster, found by their labels, for uninstalling."""

from __future__ import annotations

from typing import Final

import msgspec

from controller.kube.client import Client
from controller.kube.errors import NotFound

OURS: Final = "app.kubernetes.io/part-of=penstock"


class _Metadata(msgspec.Struct):
    name: str
    namespace: str = ""


class _Spec(msgspec.Struct):
    replicas: int = 0


class _Status(msgspec.Struct):
    phase: str = ""


class OwnObject(msgspec.Struct):
    """What uninstalling has to know of any of them."""

    metadata: _Metadata
    spec: _Spec = msgspec.field(default_factory=_Spec)
    status: _Status = msgspec.field(default_factory=_Status)


class _List(msgspec.Struct):
    items: list[OwnObject]


async def own(client: Client, path: str, selector: str = OURS) -> list[OwnObject]:
    """Return those below `path` that have the labels; none if their kind is not served. Raises KubeError."""
    try:
        found = await client.get(path, {"labelSelector": selector})
    except NotFound:
        return []
    return msgspec.json.decode(found, type=_List).items


async def delete(client: Client, path: str) -> None:
    """Delete one, which somebody else may have deleted already. Raises KubeError."""
    try:
        await client.delete(path)
    except NotFound:
        return
