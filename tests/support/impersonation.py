"""Requests by an administrator who acts as somebody else, with the status code and the warnings of the answer."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import aiohttp
import orjson

from controller.kube import config
from controller.sandbox import Sandbox

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Identity:
    """A user and groups, as impersonation names them."""

    user: str
    groups: tuple[str, ...] = ()

    @classmethod
    def of_account(cls, namespace: str, name: str) -> Identity:
        """A ServiceAccount, with the groups that its token gives it."""
        groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated")
        return cls(f"system:serviceaccount:{namespace}:{name}", groups)


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer of the apiserver, refusals included."""

    code: int
    body: Json
    warnings: tuple[str, ...]


class Impersonation:
    """The apiserver, asked as anybody."""

    def __init__(self, session: aiohttp.ClientSession, url: str) -> None:
        self._session = session
        self._url = url

    async def send(
        self,
        identity: Identity,
        method: str,
        path: str,
        body: Json,
        *,
        content_type: str = "application/json",
        params: Mapping[str, str] | None = None,
    ) -> Reply:
        """One request as `identity`."""
        named = [("Impersonate-User", identity.user), *(("Impersonate-Group", group) for group in identity.groups)]
        headers = [("Content-Type", content_type), *named]
        data, url = BytesIO(orjson.dumps(body)), f"{self._url}{path}"  # aiohttp wants large bodies as files
        async with self._session.request(method, url, data=data, headers=headers, params=params) as response:
            warnings = tuple(text.split('"', 1)[1] for text in response.headers.getall("Warning", []))
            return Reply(response.status, await response.json(), warnings)


@asynccontextmanager
async def impersonation(sandbox: Sandbox, kubeconfig: Path | None = None) -> AsyncIterator[Impersonation]:
    """Ask the sandbox's apiserver, or that of an administrator's kubeconfig, as anybody, while the block runs."""
    settings = await config.load(str(kubeconfig or sandbox.kubeconfig))
    tls = ssl.create_default_context(cafile=settings.ca_file)
    tls.load_cert_chain(str(settings.cert_file), settings.key_file)
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=tls)) as session:
        yield Impersonation(session, settings.host)
