"""What somebody applies who moves over as docs/moving-over.md says, and what then becomes of pods."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import orjson

from controller.kube.apply import apply, delete
from controller.kube.client import Client
from controller.sandbox import Sandbox
from tests.support import plain_http
from tests.support.eventually import eventually

Json = dict[str, Any]
TEAM = "team-a"
"""The namespace that the page's objects name."""


class Moved:
    """Applies objects of the page, and removes them again."""

    def __init__(self, client: Client, sandbox: Sandbox) -> None:
        self.client = client
        self.sandbox = sandbox
        self._applied: list[Json] = []

    async def namespace(self, labels: Mapping[str, str] | None = None, *, written: Json | None = None) -> None:
        """Make the namespace of the page, as it is written there or with these labels."""
        body = written or {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": TEAM}}
        metadata = body["metadata"]
        await self.apply(
            [{**body, "metadata": {**metadata, "labels": {**metadata.get("labels", {}), **(labels or {})}}}]
        )
        account = f"/api/v1/namespaces/{TEAM}/serviceaccounts"
        await eventually(lambda: self._lists(account), message="the namespace has no ServiceAccount")

    async def apply(self, documents: Sequence[Json]) -> None:
        self._applied += documents
        await apply(self.client, documents)

    async def create(self, kind: str, written: Json) -> Json:
        """Create an object in the namespace; return what the apiserver stored of it, or its refusal."""
        prefix = "/api/v1" if written["apiVersion"] == "v1" else f"/apis/{written['apiVersion']}"
        answer, _ = await plain_http.create(self.sandbox, f"{prefix}/namespaces/{TEAM}/{kind}", written)
        return answer

    async def tried(self, labels: Mapping[str, str] | None = None, *, namespace: str = TEAM, **spec: Any) -> Json:
        """Return the pod that would be created, or its refusal."""
        body = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "tried", "labels": dict(labels or {})},
            "spec": {"containers": [{"name": "main", "image": "none"}], **spec},
        }
        path = f"/api/v1/namespaces/{namespace}/pods?dryRun=All"
        return (await plain_http.create(self.sandbox, path, body))[0]

    async def until(
        self, holds: Callable[[Json], bool], labels: Mapping[str, str] | None = None, **options: Any
    ) -> Json:
        """Return the pod or refusal of `tried` as soon as this holds for it: watches of the webhook need a moment."""

        async def settled() -> Json:
            found = await self.tried(labels, **options)
            assert holds(found), found
            return found

        return await eventually(settled, message="what the page says does not take effect")

    async def pods(self) -> list[Json]:
        """The pods of the namespace."""
        return list(orjson.loads(await self.client.get(f"/api/v1/namespaces/{TEAM}/pods"))["items"])

    async def undo(self) -> None:
        """Remove everything, and wait until the webhook knows."""
        await delete(self.client, self._applied)
        await eventually(self._is_gone, seconds=60, message="the namespace does not go")
        await self.until(
            lambda pod: pod.get("spec", {}).get("nodeSelector") == {"any": "thing"},
            namespace="default",
            nodeSelector={"any": "thing"},
        )

    async def _lists(self, path: str) -> bool:
        return bool(orjson.loads(await self.client.get(path))["items"])

    async def _is_gone(self) -> bool:
        listed = orjson.loads(await self.client.get("/api/v1/namespaces"))["items"]
        return TEAM not in {one["metadata"]["name"] for one in listed}
