"""Delete what adds Penstock's gate to pods, and then what protects it: the first steps of uninstalling.

In this order, with a pause after each for apiservers to notice it: a pod that gets the gate after the others were
released would wait for ever.
"""

from __future__ import annotations

import asyncio
from typing import Final

import msgspec

from controller.kube.client import Client
from controller.kube.errors import NotFound

_API: Final = "/apis/admissionregistration.k8s.io/v1"
_KINDS: Final = ("webhookconfigurations", "admissionpolicybindings", "admissionpolicies")
_ADDS, _PROTECTS = (tuple(f"{way}{kind}" for kind in _KINDS) for way in ("mutating", "validating"))
_OURS: Final = {"labelSelector": "app.kubernetes.io/part-of=penstock"}
PAUSE_SECONDS: Final = 5.0


class _Metadata(msgspec.Struct):
    name: str


class _Object(msgspec.Struct):
    metadata: _Metadata


class _List(msgspec.Struct):
    items: list[_Object]


async def names(client: Client) -> list[str]:
    """Return all of them, as `<resource>/<name>`, in the order in which they go."""
    return [f"{kind}/{name}" for kind in (*_ADDS, *_PROTECTS) for name in await _named(client, kind)]


async def remove(client: Client) -> None:
    """Delete them all, and wait until no apiserver goes by them any more. Raises KubeError."""
    for kinds in (_ADDS, _PROTECTS):
        for kind in kinds:
            for name in await _named(client, kind):
                await _delete(client, f"{_API}/{kind}/{name}")
        await asyncio.sleep(PAUSE_SECONDS)


async def _named(client: Client, kind: str) -> list[str]:
    try:
        found = await client.get(f"{_API}/{kind}", _OURS)
    except NotFound:  # before Kubernetes 1.36 there are no mutating policies
        return []
    return [one.metadata.name for one in msgspec.json.decode(found, type=_List).items]


async def _delete(client: Client, path: str) -> None:
    try:
        await client.delete(path)
    except NotFound:
        return
