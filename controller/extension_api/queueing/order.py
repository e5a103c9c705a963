"""What decides the order, as `penstock prio` and `share` show it: the parts of each place, and the shares of queues."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import replace

from msgspec import structs

from controller.core.snapshot import Snapshot
from controller.extension_api.queueing.key_pages import key_page
from controller.extension_api.queueing.line_pages import LinePages, Waiting, in_namespace
from controller.extension_api.queueing.shared import Shared
from controller.extension_api.queueing.world import World
from controller.extension_api.resources import HIDDEN, Column, Entry, Page, Query, Resource
from controller.visibility.order_parts import each_share, order_row
from controller.visibility.rows import OrderRow, ShareRow

_LOCAL_QUEUE = "LocalQueue"

_ORDERS: tuple[Column[OrderRow], ...] = (
    Column("ClusterQueue", lambda row: row.cluster_queue, "Where its quota comes from."),
    Column("Place", lambda row: row.place, "Its place there, 1 the first.", "integer"),
    Column("Begun", lambda row: str(row.begun), "Whether pods were preempted for it."),
    Column("Gang", lambda row: str(row.completes_gang), "Whether an admitted gang lacks it."),
    Column("Priority", lambda row: row.priority, "Its priority in the queue, with its age.", "integer"),
    Column("QueueUsage", lambda row: row.queue_usage, "What its queue has used lately, in cores."),
    Column("UserUsage", lambda row: row.user_usage, "What its user has used lately, in cores."),
    Column("OwnerCreated", lambda row: row.owner_created, "When its owner was created."),
    Column("Index", lambda row: row.index, "Its completion index.", "integer", is_wide=True),
    Column("Created", lambda row: row.created, "When it was created.", is_wide=True),
    Column("Behind", lambda row: row.behind, "Who was put on top and before it.", is_wide=True),
)
_SHARES: tuple[Column[ShareRow], ...] = (
    Column("Parent", lambda row: row.parent, "Among whose queues it is ranked."),
    Column("Rank", lambda row: row.rank, "1 is served first.", "integer"),
    Column("Weight", lambda row: row.weight, "What it is divided by."),
    Column("Share", lambda row: row.share, "What it borrows of all it could get, in thousandths.", "integer"),
    Column("Used", lambda row: row.used, "What it has used lately, in cores."),
)


def workload_orders(world: World) -> Resource:
    """Return what decides the place of each workload that waits."""

    def entry(snapshot: Snapshot, waiting: Waiting) -> Entry:
        row = order_row(snapshot, waiting.cluster_queue, waiting.workload, waiting.place)
        # behind whom of its own LocalQueue: of no other namespace
        return Entry(row.name, row.namespace, row, frozenset((row.namespace,)))

    pages = LinePages(world, entry)

    async def listed(query: Query) -> Page:
        return await pages.page(query, world.line_names(query.namespace), in_namespace(query))

    return Resource(
        plural="workloadorders",
        singular="workloadorder",
        kind="WorkloadOrder",
        is_namespaced=True,
        item=OrderRow,
        columns=_ORDERS,
        list=listed,
        redact=_without_names,
    )


def _without_names(entry: Entry, seen: Set[str]) -> Entry:
    if entry.namespace in seen:
        return entry
    row = entry.row
    if not isinstance(row, OrderRow):
        raise TypeError(f"no row of an order: {row!r}")
    behind = HIDDEN if row.behind else ""
    hidden = structs.replace(row, namespace=HIDDEN, name=HIDDEN, local_queue=HIDDEN, behind=behind)
    return replace(entry, name=HIDDEN, namespace=HIDDEN, row=hidden, names=frozenset())


def queue_shares(world: World) -> Resource:
    """Return what queues count for where shares or past usage decide whose turn it is."""

    async def count(key: str) -> Sequence[ShareRow]:
        del key
        steps = await world.turns.through(each_share(await world.snapshot()))
        return [row for rows in steps for row in rows]

    counted: Shared[Sequence[ShareRow]] = Shared(count)

    async def listed(query: Query) -> Page:
        return await key_page(world, query, await counted.get(), _share_name, _share)

    return Resource(
        plural="queueshares",
        singular="queueshare",
        kind="QueueShare",
        is_namespaced=False,
        item=ShareRow,
        columns=_SHARES,
        list=listed,
        redact=_without_local_queue,
    )


def _share_name(row: ShareRow) -> str:
    """Return the kind and the name: a LocalQueue and a ClusterQueue may have the same."""
    return f"{row.kind.lower()}.{row.name.replace('/', '.')}"


def _share(row: ShareRow) -> Entry:
    namespace, _, _ = row.name.partition("/")
    names = frozenset((namespace,)) if row.kind == _LOCAL_QUEUE else frozenset[str]()
    return Entry(_share_name(row), "", row, names)


def _without_local_queue(entry: Entry, seen: Set[str]) -> Entry:
    del seen  # it names one namespace, which is not among them
    row = entry.row
    if not isinstance(row, ShareRow):
        raise TypeError(f"no row of a share: {row!r}")
    return replace(entry, name=HIDDEN, row=structs.replace(row, name=HIDDEN))
