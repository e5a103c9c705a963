"""Our CRDs on an apiserver, and the wait until it really serves their kinds."""

from __future__ import annotations

from pathlib import Path

from controller.kube.apply import apply
from controller.kube.client import Client
from controller.kube.errors import NotFound, TooManyRequests
from controller.kube.manifests import load_documents
from tests.support.eventually import eventually

CRDS = Path(__file__).resolve().parents[2] / "config" / "crd"


async def serve_our_kinds(client: Client) -> None:
    """Apply the CRDs; return once all are served: one that is Established may answer 404 or 429 for a moment."""
    documents = load_documents(CRDS)
    await apply(client, documents)
    for crd in documents:
        spec = crd["spec"]
        path = f"/apis/{spec['group']}/{spec['versions'][0]['name']}/{spec['names']['plural']}"

        async def is_served(path: str = path) -> bool:
            try:
                return bool(await client.get(path))
            except (NotFound, TooManyRequests):
                return False

        await eventually(is_served, message=f"{path} is not served")
