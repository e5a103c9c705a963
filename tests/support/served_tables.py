"""The table that the apiserver makes of an object for `kubectl get`."""

from __future__ import annotations

import ssl
from typing import Any

import aiohttp

from controller.kube import config
from controller.sandbox import Sandbox

_TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


async def table_row(sandbox: Sandbox, where: str, name: str) -> dict[str, Any]:
    """Return the cells of one of our objects by column, those of `-o wide` too."""
    settings = await config.load(str(sandbox.kubeconfig))
    context = ssl.create_default_context(cafile=settings.ca_file)
    assert settings.cert_file is not None
    context.load_cert_chain(settings.cert_file, settings.key_file)
    path = f"/apis/penstock.dev/v1alpha1/{where}/{name}"
    connector = aiohttp.TCPConnector(ssl=context)
    async with (
        aiohttp.ClientSession(settings.host, connector=connector, headers={"Accept": _TABLE}) as session,
        session.get(path, params={"includeObject": "None"}) as answer,
    ):
        assert answer.ok, await answer.text()
        table = await answer.json()
    names = [column["name"] for column in table["columnDefinitions"]]
    return dict(zip(names, table["rows"][0]["cells"], strict=True))
