"""Requests whose answer headers matter: admission warnings, for which our own client has no use."""

from __future__ import annotations

import io
import ssl
from typing import Any

import aiohttp
import orjson

from controller.kube import config
from controller.sandbox import Sandbox


async def create(sandbox: Sandbox, path: str, body: dict[str, Any] | bytes) -> tuple[dict[str, Any], list[str]]:
    """POST as administrator; return the answer and the texts of its warnings."""
    return await _send(sandbox, "POST", path, body, "application/json")


async def patch(sandbox: Sandbox, path: str, body: list[dict[str, Any]]) -> tuple[dict[str, Any], list[str]]:
    """PATCH with a JSON Patch as administrator; return the answer and the texts of its warnings."""
    return await _send(sandbox, "PATCH", path, body, "application/json-patch+json")


async def _send(
    sandbox: Sandbox, method: str, path: str, body: object, content_type: str
) -> tuple[dict[str, Any], list[str]]:
    settings = await config.load(str(sandbox.kubeconfig))
    tls = ssl.create_default_context(cafile=settings.ca_file)
    tls.load_cert_chain(str(settings.cert_file), settings.key_file)
    headers = {"Content-Type": content_type}
    url = f"{settings.host}{path}"
    data = io.BytesIO(body if isinstance(body, bytes) else orjson.dumps(body))
    async with (
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=tls)) as session,
        session.request(method, url, data=data, headers=headers) as response,
    ):
        return await response.json(), [text.split('"', 1)[1] for text in response.headers.getall("Warning", [])]
