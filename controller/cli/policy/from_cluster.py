"""Surroundings and pods from a cluster: each kind listed once, page by page. Nothing is written, nothing is watched."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final
from urllib.parse import quote

import orjson
from msgspec import Raw

from controller.cli.policy.faults import NoAnswer
from controller.cli.policy.kinds import ACCESS_READER, KINDS, NAMESPACES, Kind
from controller.cli.policy.surroundings import Settings, Surroundings
from controller.cli.refusals import told
from controller.kube import config
from controller.kube.client import Client
from controller.kube.errors import Forbidden, KubeError, NotFound
from controller.kube.listing import list_all, pages

_PODS: Final = "/api/v1/pods"


@asynccontextmanager
async def connected(kubeconfig: str | None, context: str | None) -> AsyncIterator[Client]:
    """Open the cluster that the options name. Raises NoAnswer."""
    with _told():
        settings = await config.load(kubeconfig, context)
        async with Client(settings, user_agent="penstock-cli") as client:
            yield client


async def surroundings_in(
    client: Client, settings: Settings, namespace: str | None, kinds: Iterable[Kind] = KINDS
) -> tuple[Surroundings, tuple[str, ...]]:
    """Read what pods of a namespace meet, or those of all with None; and notes on what may not be read.

    Raises NoAnswer.
    """
    surroundings, notes = Surroundings(settings), []
    for kind in kinds:
        if not kind.is_wanted(surroundings):
            continue
        try:
            items = await _items(client, kind, namespace)
        except Forbidden:
            if not kind.is_optional(surroundings):
                raise _not_allowed(
                    kind.resource, kind.namespaced, namespace, _verb(kind, namespace), kind.reader
                ) from None
            notes.append(f"no right to list {kind.resource}: {kind.leave_out(surroundings)}")
            continue
        except NotFound:
            raise _not_found(kind, namespace) from None
        kind.sink(surroundings)(items)
    return surroundings, tuple(notes)


async def pods_in(client: Client, namespace: str | None) -> AsyncIterator[list[dict[str, Any]]]:
    """Yield the pods of a namespace, or all with None, a page at a time. Raises NoAnswer."""
    path = f"/api/v1/namespaces/{quote(namespace, safe='')}/pods" if namespace else _PODS
    try:
        async for page in pages(client, path):
            yield [orjson.loads(bytes(raw)) for raw in page.items or ()]
    except Forbidden:
        raise _not_allowed("pods", True, namespace, "list") from None


def current_namespace(kubeconfig: str | None, context: str | None) -> str:
    """Return the namespace of the kubeconfig's context. Raises NoAnswer."""
    with _told():
        return config.namespace(kubeconfig, context)


@contextmanager
def _told() -> Iterator[None]:
    """Faults of the cluster as those of no answer: 1 would mean that there is one."""
    try:
        yield
    except KubeError as error:
        raise NoAnswer(told(error)) from None


async def _items(client: Client, kind: Kind, namespace: str | None) -> list[Any]:
    if kind is NAMESPACES and namespace:
        # who works in one namespace may read it, and seldom all
        return [kind.decode(Raw(await client.get(f"{kind.path(None)}/{quote(namespace, safe='')}")))]
    return await list_all(client, kind.path(quote(namespace, safe="") if namespace else None), kind.decode)


def _verb(kind: Kind, namespace: str | None) -> str:
    return "get" if kind is NAMESPACES and namespace else "list"


def _not_allowed(resource: str, namespaced: bool, namespace: str | None, verb: str, reader: str = "") -> NoAnswer:
    if namespace and (namespaced or verb == "get"):
        where, ask = f"in namespace {namespace!r}", "ask for the role view there"
    else:
        where, ask = "in the whole cluster", "ask for the ClusterRole view"
    if reader:
        ask = f"ask for the ClusterRole {reader}"
    besides = ", leave SchedulingPolicies out with --no-scheduling-policies" if reader == ACCESS_READER else ""
    return NoAnswer(f"no right to {verb} {resource} {where}: {ask}{besides}, or use --objects with files")


def _not_found(kind: Kind, namespace: str | None) -> NoAnswer:
    if kind is NAMESPACES:
        return NoAnswer(f"namespace {namespace!r} does not exist; create it, or name another with --namespace")
    return NoAnswer(
        f"the cluster does not serve {kind.resource}: install Penstock's CRDs (config/crd), or use --objects"
    )
