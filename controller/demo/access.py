"""A kubeconfig that acts as a ServiceAccount of whichever cluster our own settings lead to."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import orjson
import yaml

from controller.kube.client import Client
from controller.kube.connection import Connection

_TOKEN_SECONDS = 3600
_NAME = "penstock-demo"


async def service_account_kubeconfig(client: Client, settings: Connection, namespace: str, account: str) -> bytes:
    """Ask for a token of an hour and return a kubeconfig with it. Raises NotFound when there is no such account."""
    request = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {"expirationSeconds": _TOKEN_SECONDS},
    }
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token"
    token = orjson.loads(await client.post(path, request))["status"]["token"]
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": _NAME, "cluster": _cluster(settings)}],
        "users": [{"name": _NAME, "user": {"token": token}}],
        "contexts": [{"name": _NAME, "context": {"cluster": _NAME, "user": _NAME, "namespace": namespace}}],
        "current-context": _NAME,
    }
    return yaml.safe_dump(content, sort_keys=False).encode()


def _cluster(settings: Connection) -> dict[str, Any]:
    """How to reach and to trust the apiserver, as our own settings do; nothing of who we are."""
    cluster: dict[str, Any] = {"server": settings.host}
    if not settings.verify_tls:
        cluster["insecure-skip-tls-verify"] = True
    elif settings.ca_file:
        authority = Path(settings.ca_file).read_bytes()
        cluster["certificate-authority-data"] = base64.b64encode(authority).decode()
    if settings.tls_server_name:
        cluster["tls-server-name"] = settings.tls_server_name
    return cluster
