"""ClusterQueues and LocalQueues: quota, what is used, borrowed and lent, and how many wait."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import replace
from typing import Any

from msgspec import structs

from controller.core.workloads.workload import QueueKey
from controller.extension_api.queueing.key_pages import key_page
from controller.extension_api.queueing.world import World
from controller.extension_api.resources import EVERYWHERE, Column, Entry, Page, Query, Resource
from controller.visibility.rows import ClusterQueueRow, FlavorUse, LocalQueueRow


def _use(row: ClusterQueueRow | LocalQueueRow) -> str:
    """Write `spot cpu 6/14, on-demand cpu 0/2`: used of what is given."""
    return ", ".join(
        f"{flavor.name} {one.name} {one.used}/{one.quota}" for flavor in row.flavors for one in flavor.resources
    )


def _moved(flavors: Sequence[FlavorUse], what: str) -> str:
    """Write what is borrowed, lent or free of each resource, where that is anything."""
    found = ((flavor.name, one.name, getattr(one, what)) for flavor in flavors for one in flavor.resources)
    return ", ".join(f"{flavor} {name} {amount}" for flavor, name, amount in found if amount != "0")


_COUNTS: tuple[Column[Any], ...] = (
    Column("Pending", lambda row: row.pending, "Pods that wait.", "integer"),
    Column("Reserved", lambda row: row.reserved, "Pods that are admitted and on no node yet.", "integer"),
    Column("Running", lambda row: row.running, "Pods that run.", "integer"),
    Column("Active", lambda row: str(row.active), "Whether it admits."),
    Column("Used/Quota", _use, "How much of which quota is used, by flavor and resource."),
)
_DETAILS: tuple[Column[Any], ...] = (
    Column("Free", lambda row: _moved(row.flavors, "free"), "What may still be admitted.", is_wide=True),
    Column("Message", lambda row: row.message, "Why it does not admit.", is_wide=True),
)
_CLUSTER_QUEUES: tuple[Column[ClusterQueueRow], ...] = (
    Column("Parent", lambda row: row.parent, "The ClusterQueue above it."),
    *_COUNTS,
    Column(
        "Borrowed", lambda row: _moved(row.flavors, "borrowed"), "How much is used beyond its own quota.", is_wide=True
    ),
    Column("Lent", lambda row: _moved(row.flavors, "lent"), "What others use of its own.", is_wide=True),
    *_DETAILS,
)
_LOCAL_QUEUES: tuple[Column[LocalQueueRow], ...] = (
    Column("ClusterQueue", lambda row: row.cluster_queue, "Where its quota comes from."),
    *_COUNTS,
    *_DETAILS,
)


def cluster_queues(world: World) -> Resource:
    """Return the ClusterQueues, each behind its parent."""

    def entry(name: str, row: ClusterQueueRow) -> Entry:
        return Entry(name, "", row, EVERYWHERE if row.local_queues else frozenset())

    async def listed(query: Query) -> Page:
        rows = await world.rows()
        return await key_page(world, query, rows.names, str, lambda one: entry(one, rows.cluster_queue(one)))

    async def get(query: Query) -> Entry | None:
        rows = await world.rows()
        async with world.turns.one():
            return entry(query.name, rows.cluster_queue(query.name)) if query.name in rows.names else None

    return Resource(
        plural="clusterqueues",
        singular="clusterqueue",
        kind="ClusterQueue",
        is_namespaced=False,
        item=ClusterQueueRow,
        columns=_CLUSTER_QUEUES,
        list=listed,
        get=get,
        redact=_without_local_queues,
    )


def local_queues(world: World) -> Resource:
    """Return the LocalQueues, by namespace and name."""

    async def listed(query: Query) -> Page:
        rows = await world.rows()
        keys = [key for key in rows.keys if query.namespace in ("", key[0])]
        return await key_page(world, query, keys, "/".join, lambda one: _local(one, rows.local_queue(one)))

    async def get(query: Query) -> Entry | None:
        rows, key = await world.rows(), (query.namespace, query.name)
        async with world.turns.one():
            return _local(key, rows.local_queue(key)) if key in rows.keys else None

    return Resource(
        plural="localqueues",
        singular="localqueue",
        kind="LocalQueue",
        is_namespaced=True,
        item=LocalQueueRow,
        columns=_LOCAL_QUEUES,
        list=listed,
        get=get,
    )


def _local(key: QueueKey, row: LocalQueueRow) -> Entry:
    return Entry(key[1], key[0], row)


def _without_local_queues(entry: Entry, seen: Set[str]) -> Entry:
    """Leave out who may submit there."""
    del seen  # somebody who saw all would not come here
    row = entry.row
    if not isinstance(row, ClusterQueueRow):
        raise TypeError(f"no row of a ClusterQueue: {row!r}")
    return replace(entry, row=structs.replace(row, local_queues=()))
