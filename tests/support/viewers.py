"""People who read an aggregated API through the real apiserver: answers with their status, refusals too."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from io import BytesIO
from typing import Any

import aiohttp
import orjson

from controller.kube import config
from controller.kube.apply import apply
from controller.kube.client import Client
from controller.sandbox import Sandbox
from tests.support.rbac_objects import API, a_binding, account

Json = dict[str, Any]
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
AGGREGATED_DISCOVERY = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
VIEWER = "penstock-visibility-viewer"
SIMULATOR = "penstock-visibility-simulator"
ACCOUNTANT = "penstock-visibility-accountant"


@dataclass(frozen=True, slots=True)
class Reply:
    code: int
    text: bytes

    @property
    def body(self) -> Any:
        return orjson.loads(self.text)

    @property
    def names(self) -> list[str]:
        """Names of the objects of a list."""
        return [one["metadata"]["name"] for one in self.body["items"]]


class Viewers:
    """Asks as an administrator, as somebody whom the administrator speaks for, or as nobody."""

    def __init__(self, session: aiohttp.ClientSession, stranger: aiohttp.ClientSession, url: str) -> None:
        self._session, self._stranger, self._url = session, stranger, url

    async def get(
        self,
        path: str,
        user: str = "",
        *,
        accept: str = "application/json",
        headers: Mapping[str, str] | None = None,
        parameters: Mapping[str, str] | None = None,
    ) -> Reply:
        """One GET as `user` in system:authenticated; without a user as the administrator."""
        return await self._get(
            self._session, path, {"Accept": accept, **_as(user), **(headers or {})}, parameters or {}
        )

    async def create(self, path: str, document: Json, user: str = "") -> Reply:
        """One POST as `kubectl create -f` makes it, by `user` as in `get`."""
        headers = {"Accept": "application/json", "Content-Type": "application/json", **_as(user)}
        parameters = {"fieldManager": "kubectl-create", "fieldValidation": "Strict"}
        data = BytesIO(orjson.dumps(document))
        async with self._session.post(self._url + path, data=data, headers=headers, params=parameters) as response:
            return Reply(response.status, await response.read())

    async def get_as_nobody(self, path: str) -> Reply:
        """One GET without any credentials."""
        return await self._get(self._stranger, path, {}, {})

    async def _get(
        self, session: aiohttp.ClientSession, path: str, headers: Mapping[str, str], parameters: Mapping[str, str]
    ) -> Reply:
        async with session.get(self._url + path, headers=headers, params=parameters) as response:
            return Reply(response.status, await response.read())


def _as(user: str) -> dict[str, str]:
    return {"Impersonate-User": user, "Impersonate-Group": "system:authenticated"} if user else {}


@asynccontextmanager
async def viewers(sandbox: Sandbox) -> AsyncIterator[Viewers]:
    settings = await config.load(str(sandbox.kubeconfig))
    shown, bare = (ssl.create_default_context(cafile=settings.ca_file) for _ in range(2))
    shown.load_cert_chain(str(settings.cert_file), settings.key_file)
    async with (
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=shown)) as session,
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=bare)) as stranger,
    ):
        yield Viewers(session, stranger, settings.host)


async def a_viewing_account(client: Client, namespace: str) -> str:
    """Make a ServiceAccount that may view its namespace; return its name."""
    name = "viewer"
    made = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": namespace}}
    binding = a_binding(name, "view", account(name, namespace), namespace=namespace)
    await apply(client, [made, {"apiVersion": f"{API}/v1", "kind": "RoleBinding", **binding}])
    return name


async def bind(client: Client, user: str, role: str, namespace: str = "") -> None:
    """Give somebody a ClusterRole in a namespace, or in the whole cluster."""
    subject = {"kind": "User", "name": user, "apiGroup": "rbac.authorization.k8s.io"}
    where = {"namespace": namespace} if namespace else {}
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding" if namespace else "ClusterRoleBinding",
        "metadata": {"name": f"{user}-{role}", **where},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        "subjects": [subject],
    }
    await apply(client, [binding])
