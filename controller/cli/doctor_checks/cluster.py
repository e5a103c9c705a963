"""The cluster that is examined: reads of objects that may be missing, and reviews of who may do what."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson

from controller.kube.client import Client
from controller.kube.errors import NotFound
from controller.kube.listing import pages

Json = dict[str, Any]

OURS: Final = "/apis/penstock.dev/v1alpha1"
ADMISSION: Final = "/apis/admissionregistration.k8s.io/v1"
_REVIEWS: Final = "/apis/authorization.k8s.io/v1"


@dataclass(frozen=True, slots=True)
class Cluster:
    """`home` is the namespace that Penstock runs in, `probed` the one in which a pod is tried, without creating it."""

    client: Client
    home: str
    probed: str

    async def get(self, path: str) -> Json | None:
        """Return an object, None where it or its whole kind does not exist. Raises KubeError."""
        try:
            found: Json = orjson.loads(await self.client.get(path))
        except NotFound:
            return None
        return found

    async def items(self, path: str, params: Mapping[str, str] | None = None) -> AsyncIterator[Json]:
        """Yield the objects of a collection; none where its kind does not exist. Raises KubeError."""
        try:
            async for page in pages(self.client, path, params):
                for raw in page.items or ():
                    yield orjson.loads(bytes(raw))
        except NotFound:
            return

    async def i_may(self, attributes: Mapping[str, str]) -> bool:
        """Ask whether whoever runs this may do something (SelfSubjectAccessReview). Raises KubeError."""
        spec = {"resourceAttributes": dict(attributes)}
        return await self._allowed("selfsubjectaccessreviews", "SelfSubjectAccessReview", spec)

    async def may(self, user: str, groups: list[str], attributes: Mapping[str, str]) -> bool:
        """Ask whether somebody else may (SubjectAccessReview). Raises KubeError."""
        spec = {"user": user, "groups": groups, "resourceAttributes": dict(attributes)}
        return await self._allowed("subjectaccessreviews", "SubjectAccessReview", spec)

    async def _allowed(self, plural: str, kind: str, spec: Json) -> bool:
        body = {"apiVersion": "authorization.k8s.io/v1", "kind": kind, "spec": spec}
        answer = orjson.loads(await self.client.post(f"{_REVIEWS}/{plural}", body))
        return bool(answer["status"]["allowed"])


def name_of(document: Json) -> str:
    """Return `namespace/name` of an object, or its name."""
    metadata = document["metadata"]
    return f"{metadata['namespace']}/{metadata['name']}" if metadata.get("namespace") else str(metadata["name"])


def condition_of(document: Json, kind: str) -> Json:
    """Return a condition of an object; an empty one where there is none."""
    found = (one for one in (document.get("status") or {}).get("conditions") or () if one.get("type") == kind)
    return dict(next(found, {}))
