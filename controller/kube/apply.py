"""Bring objects into a cluster, and take them out again: server-side apply of manifests, whatever their kinds.

For setting up and tearing down (CRDs, RBAC, samples, tests), not for the controller's own writes, which are single
patches of known kinds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from controller.kube import clock
from controller.kube.client import APPLY_PATCH, Client
from controller.kube.errors import ApiError, KubeError, NotFound, TooManyRequests
from controller.kube.manifests import Document

FIELD_MANAGER = "penstock"

_CRD = "CustomResourceDefinition"
_FIRST = ("Namespace", _CRD)
_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_POLL_SECONDS = 0.1

Body = Mapping[str, Any]


class ApplyError(KubeError):
    """An object could not be applied or deleted; the text names its file, kind and name, and the fault."""


@dataclass(frozen=True, slots=True)
class Reference:
    """An object by kind and name; `namespace` is empty where the kind has none."""

    api_version: str
    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"


async def apply(
    client: Client, documents: Sequence[Body], *, namespace: str = "default", seconds: float = 30
) -> list[Reference]:
    """Apply all `documents` and return them in the order in which they were applied.

    Namespaces and CRDs go first, and the others wait until the CRDs are served, for `seconds` at most. `namespace` is
    for objects that name none. Ownership conflicts are forced. Raises ApplyError at the first object that fails, and
    Unreachable.
    """
    session = _Session(client, namespace, clock.monotonic() + seconds)
    ordered = sorted(documents, key=_rank)
    fresh = [document for document in ordered if document["kind"] == _CRD]
    session.fresh_groups = {document["spec"]["group"] for document in fresh}
    done = []
    for document in ordered:
        if _rank(document) == len(_FIRST) and fresh:
            for definition in fresh:
                await session.wait_until_established(definition)
            fresh = []
        done.append(await session.apply(document))
    for definition in fresh:
        await session.wait_until_established(definition)
    return done


async def delete(client: Client, documents: Sequence[Body], *, namespace: str = "default") -> list[Reference]:
    """Delete all `documents`, the last applied first, and return those that were there.

    What does not exist is as it should be, so NotFound is no error. Does not wait for finalizers. Raises ApplyError
    and Unreachable.
    """
    session = _Session(client, namespace, clock.monotonic())
    gone = []
    ordered = sorted(documents, key=_rank)
    for document in reversed(ordered):
        reference = await session.delete(document)
        if reference is not None:
            gone.append(reference)
    return gone


class _Session:
    """One run of apply or delete: what it has learnt of the apiserver's kinds, and how long it may wait."""

    def __init__(self, client: Client, namespace: str, deadline: float) -> None:
        self._client = client
        self._namespace = namespace
        self._deadline = deadline
        self._kinds: dict[str, dict[str, tuple[str, bool]]] = {}
        self.fresh_groups: set[str] = set()

    async def apply(self, document: Body) -> Reference:
        params = {"fieldManager": FIELD_MANAGER, "force": "true", "fieldValidation": "Strict"}
        while True:
            try:
                reference, path = await self._locate(document)
                await self._client.patch(path, dict(document), content_type=APPLY_PATCH, params=params)
            except NotFound as error:
                # An apiserver serves a new kind a moment after it has called the CRD Established. A 404 with a reason
                # is about the object, such as a namespace that does not exist.
                waits = self._is_fresh(document) and not error.reason
                if not waits or clock.monotonic() > self._deadline:
                    raise _failed(document, error) from error
                self._kinds.pop(document["apiVersion"], None)
                await asyncio.sleep(_POLL_SECONDS)
            except TooManyRequests as error:
                # also said while the storage of a kind that was deleted and made anew comes up
                if clock.monotonic() > self._deadline:
                    raise _failed(document, error) from error
                await asyncio.sleep(max(error.retry_after_seconds, _POLL_SECONDS))
            except ApiError as error:
                raise _failed(document, error) from error
            else:
                return reference

    async def delete(self, document: Body) -> Reference | None:
        try:
            reference, path = await self._locate(document)
            await self._client.delete(path)
        except NotFound:
            return None
        except ApiError as error:
            raise _failed(document, error) from error
        return reference

    async def wait_until_established(self, document: Body) -> None:
        path = f"{_CRDS}/{document['metadata']['name']}"
        while True:
            try:
                definition = orjson.loads(await self._client.get(path))
            except ApiError as error:
                raise _failed(document, error) from error
            conditions = definition.get("status", {}).get("conditions") or []
            if any(c["type"] == "Established" and c["status"] == "True" for c in conditions):
                return
            if clock.monotonic() > self._deadline:
                seen = "; ".join(f"{c['type']}={c['status']} ({c.get('message')})" for c in conditions)
                raise ApplyError(f"{_where(document)}: is not Established in time: {seen or 'no conditions yet'}")
            await asyncio.sleep(_POLL_SECONDS)

    async def _locate(self, document: Body) -> tuple[Reference, str]:
        """Return the reference and the path of an object. Raises NotFound for a kind that is not served."""
        api_version, kind = document["apiVersion"], document["kind"]
        if api_version not in self._kinds:
            self._kinds[api_version] = await self._discover(api_version)
        if kind not in self._kinds[api_version]:
            raise NotFound(404, "", f"the apiserver has no kind {kind} in {api_version}")
        plural, namespaced = self._kinds[api_version][kind]
        metadata = document["metadata"]
        namespace = (metadata.get("namespace") or self._namespace) if namespaced else ""
        within = f"/namespaces/{namespace}" if namespaced else ""
        path = f"{_root(api_version)}{within}/{plural}/{metadata['name']}"
        return Reference(api_version, kind, namespace, metadata["name"]), path

    async def _discover(self, api_version: str) -> dict[str, tuple[str, bool]]:
        try:
            found = orjson.loads(await self._client.get(_root(api_version)))
        except NotFound:
            raise NotFound(404, "", f"the apiserver does not serve {api_version}") from None
        # Subresources are listed beside their resources, as `pods/status`.
        return {r["kind"]: (r["name"], r["namespaced"]) for r in found["resources"] if "/" not in r["name"]}

    def _is_fresh(self, document: Body) -> bool:
        return document["apiVersion"].partition("/")[0] in self.fresh_groups


def _rank(document: Body) -> int:
    kind = document["kind"]
    return _FIRST.index(kind) if kind in _FIRST else len(_FIRST)


def _root(api_version: str) -> str:
    return f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"


def _where(document: Body) -> str:
    metadata = document["metadata"]
    name = "/".join(part for part in (metadata.get("namespace"), metadata["name"]) if part)
    source = f"{document.source}: " if isinstance(document, Document) else ""
    return f"{source}{document['kind']} {name}"


def _failed(document: Body, error: ApiError) -> ApplyError:
    return ApplyError(f"{_where(document)}: {' '.join(str(error).split())}")
