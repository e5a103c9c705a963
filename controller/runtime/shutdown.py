"""Stop the controllers of Penstock for good: a step of uninstalling.

One that goes on deciding would take back what uninstalling releases: it evicts pods and suspends Jobs of a queue that
is drained or over its quota. The APIService goes first: while it is registered and nothing answers, no namespace can be
deleted.
"""

from __future__ import annotations

import asyncio
from typing import Final

from controller.kube.client import MERGE_PATCH, Client
from controller.runtime.own_objects import OURS, OwnObject, delete, own

_API_SERVICES: Final = "/apis/apiregistration.k8s.io/v1/apiservices"
_CONTROLLER: Final = f"{OURS},app.kubernetes.io/name=penstock-controller"
_ENDED: Final = ("Succeeded", "Failed")
POLL_SECONDS: Final = 0.5
_LOOKS: Final = 180
LONGEST_SECONDS: Final = POLL_SECONDS * _LOOKS
"""Until the pods are gone: their grace period of 30 s, and time for a slow node."""


async def names(client: Client) -> list[str]:
    """Return what is deleted and then stopped, as `<resource>/<name>`, in this order. Raises KubeError."""
    services = [f"apiservices/{one.metadata.name}" for one in await own(client, _API_SERVICES)]
    return services + [f"deployments/{one.metadata.name}" for one in await _deployments(client)]


async def shut_down(client: Client) -> list[str]:
    """Stop them all, and wait until their pods are gone; return pods that do not end. Raises KubeError."""
    for service in await own(client, _API_SERVICES):
        await delete(client, f"{_API_SERVICES}/{service.metadata.name}")
    for one in await _deployments(client):
        path = f"/apis/apps/v1/namespaces/{one.metadata.namespace}/deployments/{one.metadata.name}/scale"
        await client.patch(path, {"spec": {"replicas": 0}}, content_type=MERGE_PATCH)
    for _ in range(_LOOKS):
        if not await _pods(client):
            return []
        await asyncio.sleep(POLL_SECONDS)
    return await _pods(client)


async def _deployments(client: Client) -> list[OwnObject]:
    found = await own(client, "/apis/apps/v1/deployments", _CONTROLLER)
    return [one for one in found if one.spec.replicas]


async def _pods(client: Client) -> list[str]:
    found = await own(client, "/api/v1/pods", _CONTROLLER)
    return [f"{one.metadata.namespace}/{one.metadata.name}" for one in found if one.status.phase not in _ENDED]
