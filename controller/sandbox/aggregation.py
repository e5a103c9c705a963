"""Extension API servers of a sandbox: programs on loopback to which the apiserver passes requests on.

A Service of type ExternalName leads to `localhost`; the port stands in the APIService. The server needs a certificate
for `<service>.<namespace>.svc`, and the APIService the authority behind it in `caBundle`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from controller.kube import clock
from controller.kube.client import Client
from controller.sandbox.errors import SandboxError

API_SERVICE = "APIService"
_PATH = "/apis/apiregistration.k8s.io/v1/apiservices"
_SECONDS = 60.0
_POLL_SECONDS = 0.1


def is_aggregated(document: Mapping[str, Any]) -> bool:
    """Whether an object registers an extension API server, or leads to one."""
    return document["kind"] in (API_SERVICE, "Service")


def on_loopback(document: Mapping[str, Any], port: int) -> dict[str, Any]:
    """Return a Service or an APIService so that it leads to this port of the machine."""
    if document["kind"] == API_SERVICE:
        spec = document["spec"]
        return {**document, "spec": {**spec, "service": {**spec["service"], "port": port}}}
    return {**document, "spec": {"type": "ExternalName", "externalName": "localhost"}}


async def until_available(client: Client, documents: Iterable[Mapping[str, Any]]) -> None:
    """Wait until the apiserver reaches what the APIServices among these register. Raises SandboxError with why not."""
    deadline = clock.monotonic() + _SECONDS
    for name in [one["metadata"]["name"] for one in documents if one["kind"] == API_SERVICE]:
        while (why := await _unavailable(client, name)) is not None:
            if clock.monotonic() > deadline:
                raise SandboxError(f"APIService {name} is not available after {_SECONDS:g} s: {why}")
            await asyncio.sleep(_POLL_SECONDS)


async def _unavailable(client: Client, name: str) -> str | None:
    status = orjson.loads(await client.get(f"{_PATH}/{name}")).get("status") or {}
    found = [one for one in status.get("conditions") or () if one["type"] == "Available"]
    if any(one["status"] == "True" for one in found):
        return None
    return "; ".join(f"{one['reason']}: {one['message']}" for one in found) or "nobody has looked yet"
