"""What an installation leaves in a cluster."""

from __future__ import annotations

from typing import Final

import orjson

from controller.kube.client import Client

CRDS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
API_SERVICES: Final = "/apis/apiregistration.k8s.io/v1/apiservices"
NAMESPACES: Final = "/api/v1/namespaces"
_ADMISSION: Final = "/apis/admissionregistration.k8s.io/v1"
_RBAC: Final = "/apis/rbac.authorization.k8s.io/v1"
_ADMITTING: Final = ("webhookconfigurations", "admissionpolicies", "admissionpolicybindings")
_KINDS: Final = (
    *(f"{_ADMISSION}/{way}{kind}" for way in ("mutating", "validating") for kind in _ADMITTING),
    *(f"{_RBAC}/{kind}" for kind in ("clusterroles", "clusterrolebindings")),
    API_SERVICES,
    CRDS,
    "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas",
    "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations",
    NAMESPACES,
)


async def left_behind(client: Client) -> list[str]:
    """Return the paths of all objects of ours that belong to the cluster."""
    return [f"{path}/{name}" for path in _KINDS for name in await _named_ours(client, path)]


async def _named_ours(client: Client, path: str) -> list[str]:
    names = [one["metadata"]["name"] for one in orjson.loads(await client.get(path))["items"]]
    return [name for name in names if name.startswith("penstock") or name.endswith(".penstock.dev")]
