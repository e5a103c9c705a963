"""Admission policies of `config/policy` brought into a sandbox, and waited for: an apiserver heeds them a moment later.

What the policies say is in their manifests; what else is installed is `installation`'s business.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import orjson

from controller.core.keys import GATE, QUEUE_NAME
from controller.kube import clock
from controller.kube.apply import apply
from controller.kube.client import Client
from controller.kube.errors import ApiError, Forbidden
from controller.sandbox.errors import SandboxError

_SECONDS = 30.0
_POLL_SECONDS = 0.1
_PODS = "/api/v1/namespaces/default/pods"
_PROBED = ("penstock-create", "penstock-gate")
"""The policy that refuses the one probe, and the binding by which the other gets its gate."""


async def into_effect(client: Client, policies: Sequence[dict[str, Any]]) -> None:
    """Apply `policies` and return when the apiserver heeds all of them. Raises SandboxError, ApplyError.

    Each kind is watched in the order of its writes: what is probed goes last, so that with it all others are known.
    """
    await apply(client, sorted(policies, key=lambda document: document["metadata"]["name"] in _PROBED))
    deadline = clock.monotonic() + _SECONDS
    while (trouble := await _trouble(client)) is not None:
        if clock.monotonic() > deadline:
            raise SandboxError(f"the admission policies are not in effect after {_SECONDS:g} s: {trouble}")
        await asyncio.sleep(_POLL_SECONDS)


async def _trouble(client: Client) -> str | None:
    """Say what shows that policies are not heeded yet; None when they are."""
    try:
        pod = await _tried(client, {QUEUE_NAME: "probe"}, {})
    except ApiError as error:
        return str(error)  # such as: the namespace has no ServiceAccount yet
    if not any(gate["name"] == GATE for gate in pod["spec"].get("schedulingGates", ())):
        return "a pod that names a queue gets no gate"
    try:
        await _tried(client, {}, {"schedulingGates": [{"name": GATE}]})
    except Forbidden as error:
        return None if _PROBED[0] in error.message else str(error)
    return "a pod that names no queue may carry the gate"


async def _tried(client: Client, labels: dict[str, str], spec: dict[str, Any]) -> dict[str, Any]:
    """The pod that would be created."""
    container = {"name": "main", "image": "none"}
    body = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "probe", "labels": labels},
        "spec": {"containers": [container], **spec},
    }
    tried: dict[str, Any] = orjson.loads(await client.post(_PODS, body, params={"dryRun": "All"}))
    return tried
