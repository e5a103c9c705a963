"""Tells the apiserver whom to trust behind the APIService: by its `caBundle`, which nothing that is installed names."""

from __future__ import annotations

import base64
from typing import Final

import orjson

from controller.extension_api.resources import GROUP, VERSION
from controller.kube.client import MERGE_PATCH, Client
from controller.kube.errors import NotFound

API_SERVICE: Final = f"/apis/apiregistration.k8s.io/v1/apiservices/{VERSION}.{GROUP}"


async def register(client: Client, bundle_pem: bytes) -> bool:
    """Write the bundle into the APIService unless it is there; False where there is no APIService.

    That one is never created here: to remove it frees the cluster of an API that does not answer. Raises KubeError.
    """
    bundle = base64.b64encode(bundle_pem).decode()
    try:
        known = orjson.loads(await client.get(API_SERVICE))["spec"].get("caBundle")
        if known != bundle:
            await client.patch(API_SERVICE, {"spec": {"caBundle": bundle}}, content_type=MERGE_PATCH)
    except NotFound:
        return False
    return True
