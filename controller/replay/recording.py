"""The snapshot of a live cluster: each kind is listed once, page by page. Nothing is written, nothing is watched.

What comes off the wire goes the way it goes in the controller, into a cache of its own. What only the memory of a
running controller has is not there: releases that were refused, evictions that were refused a moment ago, members that
gangs have lost, and flavors in which pods that came back found no node.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from msgspec import DecodeError

from controller.cache.cluster import ClusterCache
from controller.cache.kinds import OURS, PODS, Kind, ServedKind, deciding, objects_of, where_served
from controller.cache.sinks import PodSink
from controller.cache.written import Written
from controller.core.forecasts.forecast import USUAL_DEPTH
from controller.core.kubernetes.quota_resources import AS_REQUESTED, QuotaResources
from controller.core.snapshot import Snapshot
from controller.kube import clock
from controller.kube.client import Client
from controller.kube.decode import PodDecoder
from controller.kube.errors import Forbidden, Gone, KubeError, NotFound, UnreadableObject
from controller.kube.listing import pages
from controller.kube.rights import Right, what_to_ask_for
from controller.kube.served import served_path
from controller.replay.as_written import AsWritten, as_written

_ONE: Final = {"limit": "1"}


class CannotRecordError(KubeError):
    """The cluster does not show what a snapshot needs; the text says which kinds, and what to do."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """The snapshot, what a later time rests on, and a line for each object that is missing, as it cannot be read."""

    snapshot: Snapshot
    written: AsWritten
    unreadable: tuple[str, ...]


async def record(
    client: Client,
    *,
    backfill_depth: int = USUAL_DEPTH,
    resources: QuotaResources = AS_REQUESTED,
    now: Callable[[], float] = clock.now,
) -> Recorded:
    """List what decisions rest on, and return it as one decision would see it. Raises KubeError.

    `backfill_depth` and `resources` are those of the controller, which no object of the cluster says.
    """
    cache = ClusterCache(lambda: None, backfill_depth=backfill_depth)
    cache.resources.rules = resources
    decode = PodDecoder(resources=resources)
    written = Written()
    kinds = [*deciding(cache, written, decode), *await _served(client, where_served(cache, written))]
    await _ask_for_all(client, [*(kind.path for kind in kinds), PODS])
    unreadable: list[str] = []
    await _take_in(client, kinds, unreadable)
    held = [objects_of(kind, cache, decode) for kind in cache.workload_kinds.known.values()]
    await _take_in(client, [*await _served(client, held), Kind(PODS, decode, PodSink(cache))], unreadable)
    cache.advance(now())
    return Recorded(cache.snapshot(), as_written(cache), tuple(unreadable))


async def _take_in(client: Client, kinds: Sequence[Kind], unreadable: list[str]) -> None:
    for kind in kinds:
        items = await _listed(client, kind, unreadable)
        for _ in kind.sink.replace(items) or ():
            pass


async def _served(client: Client, kinds: Sequence[ServedKind]) -> list[Kind]:
    """Return the kinds that not every apiserver has, of those that this one serves."""
    found = list[Kind]()
    for one in kinds:
        try:
            path = await served_path(client, one.group, one.versions, one.resource)
        except DecodeError as error:
            raise CannotRecordError(f"/apis/{one.group}: the answer is no list of resources: {error}") from None
        found += [] if path is None else [Kind(path, one.decode, one.sink)]
    return found


async def _ask_for_all(client: Client, paths: Sequence[str]) -> None:
    """Ask for one object of each kind first, so that all that is missing is told at once, and soon."""
    forbidden, absent = list[str](), list[str]()
    for path in paths:
        try:
            await client.get(path, _ONE)
        except Forbidden:
            forbidden.append(_resource(path))
        except NotFound:
            if not path.startswith(OURS):
                raise
            absent.append(_resource(path))
    if forbidden:
        wanted = what_to_ask_for([Right("list", resource) for resource in forbidden])
        raise CannotRecordError(f"no right to list {', '.join(forbidden)} in the whole cluster: {wanted}")
    if absent:
        raise CannotRecordError(
            f"the cluster does not serve {', '.join(absent)}: install Penstock's CRDs (config/crd), "
            "or name another cluster with --kubeconfig or --context"
        )


def _resource(path: str) -> str:
    """Return the kind of a collection as RBAC and people write it: `jobs.batch`, `pods`."""
    *_, group, _, name = path.split("/")
    return name if path.startswith("/api/") else f"{name}.{group}"


async def _listed(client: Client, kind: Kind, unreadable: list[str]) -> list[Any]:
    try:
        return await _items(client, kind, unreadable, at_once=False)
    except Gone:
        # it takes longer by pages than the apiserver remembers a list
        return await _items(client, kind, unreadable, at_once=True)


async def _items(client: Client, kind: Kind, unreadable: list[str], *, at_once: bool) -> list[Any]:
    items, faults = list[Any](), list[str]()
    async for page in pages(client, kind.path, at_once=at_once):
        for raw in page.items or ():
            try:
                items.append(kind.decode(raw))
            except UnreadableObject as error:
                faults.append(f"{_resource(kind.path)}: {error}")
    unreadable += faults
    return items
