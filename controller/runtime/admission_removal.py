"""Delete what adds Penstock's gate to pods, and then what protects it: the first steps of uninstalling.

In this order, with a pause after each for apiservers to notice it: a pod that gets the gate after the others were
released would wait for ever.
"""

from __future__ import annotations

import asyncio
from typing import Final

from controller.kube.client import Client
from controller.runtime.own_objects import delete, own

_API: Final = "/apis/admissionregistration.k8s.io/v1"
_KINDS: Final = ("webhookconfigurations", "admissionpolicybindings", "admissionpolicies")
# before Kubernetes 1.36 there are no mutating policies
_ADDS, _PROTECTS = (tuple(f"{way}{kind}" for kind in _KINDS) for way in ("mutating", "validating"))
PAUSE_SECONDS: Final = 5.0


async def names(client: Client) -> list[str]:
    """Return all of them, as `<resource>/<name>`, in the order in which they go. Raises KubeError."""
    return [
        f"{kind}/{one.metadata.name}" for kind in (*_ADDS, *_PROTECTS) for one in await own(client, f"{_API}/{kind}")
    ]


async def remove_what_adds(client: Client) -> None:
    """Delete what adds the gate, and wait until no apiserver goes by it any more. Raises KubeError."""
    await _remove(client, _ADDS)


async def remove_what_protects(client: Client) -> None:
    """Delete what protects the gate, and wait until no apiserver goes by it any more. Raises KubeError."""
    await _remove(client, _PROTECTS)


async def _remove(client: Client, kinds: tuple[str, ...]) -> None:
    for kind in kinds:
        for one in await own(client, f"{_API}/{kind}"):
            await delete(client, f"{_API}/{kind}/{one.metadata.name}")
    await asyncio.sleep(PAUSE_SECONDS)
