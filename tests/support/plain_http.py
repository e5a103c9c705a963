"""Requests whose answer headers matter: admission warnings, for which our own client has no use."""

from __future__ import annotations

import ssl
from typing import Any

import aiohttp
import orjson

from controller.kube import config
from controller.sandbox import Sandbox


async def create(sandbox: Sandbox, path: str, body: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """POST as administrator; return the answer and the texts of its warnings."""
    settings = await config.load(str(sandbox.kubeconfig))
    tls = ssl.create_default_context(cafile=settings.ssl_ca_cert)
    tls.load_cert_chain(str(settings.cert_file), settings.key_file)
    headers = {"Content-Type": "application/json"}
    async with (
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=tls)) as session,
        session.post(f"{settings.host}{path}", data=orjson.dumps(body), headers=headers) as response,
    ):
        return await response.json(), [text.split('"', 1)[1] for text in response.headers.getall("Warning", [])]
