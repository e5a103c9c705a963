"""Workloads that wait: of a namespace or all of them, of a ClusterQueue, of a LocalQueue; always in their order."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace

from msgspec import Struct, structs

from controller.core.snapshot import Snapshot
from controller.core.workloads.pods import job_of, queue_priority
from controller.extension_api.queueing.line_pages import LinePages, Waiting, in_namespace
from controller.extension_api.queueing.world import World
from controller.extension_api.resources import HIDDEN, Column, Entry, Page, Query, Resource
from controller.extension_api.tables import age
from controller.kube import clock
from controller.visibility.start_rows import StartRow, starts_in
from controller.visibility.targets import target_of
from controller.visibility.workloads import requests_of

KIND = "PendingWorkload"


class PendingWorkload(Struct, frozen=True, rename="camel"):
    """A pod that waits, or the pods of a gang, which are admitted together.

    `target` is what `penstock explain` takes for it, `pods` how many it has, `requests` what they ask for together.
    `place` is its place in the order of its ClusterQueue, 1 the first, and `placeInLocalQueue` that among its
    LocalQueue's. `reason` says why it waits in a word, `message` in a sentence: as of the latest decision that said so.
    `start` says when it is expected to start; null: that was not forecast yet.
    """

    target: str
    cluster_queue: str
    local_queue: str
    place: int
    place_in_local_queue: int
    priority: int
    pods: int
    requests: dict[str, str]
    user: str
    created: str
    reason: str
    message: str
    start: StartRow | None = None


_COLUMNS: tuple[Column[PendingWorkload], ...] = (
    Column("ClusterQueue", lambda row: row.cluster_queue, "Where its quota comes from."),
    Column("LocalQueue", lambda row: row.local_queue, "The queue that it names."),
    Column("Place", lambda row: row.place, "Its place in the ClusterQueue, 1 the first.", "integer"),
    Column("Reason", lambda row: row.reason, "Why it waits."),
    Column("Age", lambda row: age(row.created, clock.now()), "For how long it has waited."),
    Column("Starts-In", lambda row: starts_in(row.start, clock.now()), "The median of the forecasts."),
    Column("Priority", lambda row: row.priority, "What orders it first.", "integer", is_wide=True),
    Column("Pods", lambda row: row.pods, "How many pods are admitted together.", "integer", is_wide=True),
    Column("Message", lambda row: row.message, "Why it waits, in a sentence.", is_wide=True),
)


def redact(entry: Entry, seen: Set[str]) -> Entry:
    """Leave out what tells who waits: figures, place and reason stay."""
    if entry.namespace in seen:
        return entry
    row = entry.row
    if not isinstance(row, PendingWorkload):
        raise TypeError(f"no row of a workload that waits: {row!r}")
    hidden = structs.replace(row, target=HIDDEN, local_queue=HIDDEN, user=HIDDEN, message="", start=None)
    return replace(entry, name=HIDDEN, namespace=HIDDEN, row=hidden, names=frozenset())


def pending_workloads(world: World) -> tuple[Resource, Resource, Resource]:
    """Return them as a resource of namespaces, and as subresources of ClusterQueues and of LocalQueues."""
    pending = _Pending(world)
    whole = Resource(
        plural="pendingworkloads",
        singular="pendingworkload",
        kind=KIND,
        short_names=("pw",),
        is_namespaced=True,
        item=PendingWorkload,
        columns=_COLUMNS,
        list=pending.of_namespace,
        get=pending.get,
        redact=redact,
    )
    part = replace(whole, subresource="pendingworkloads", short_names=(), get=None)
    return (
        whole,
        replace(part, plural="clusterqueues", is_namespaced=False, list=pending.of_cluster_queue),
        replace(part, plural="localqueues", list=pending.of_local_queue),
    )


class _Pending:
    def __init__(self, world: World) -> None:
        self._world = world
        self._pages = LinePages(world, self._entry)

    async def of_namespace(self, query: Query) -> Page:
        """Line by line, the lines by the names of their ClusterQueues."""
        return await self._pages.page(query, self._world.line_names(query.namespace), in_namespace(query))

    async def of_cluster_queue(self, query: Query) -> Page | None:
        """None where there is no ClusterQueue of the name."""
        if query.name not in self._world.cache.cluster_queues and query.name not in self._world.cache.faulty_queues:
            return None
        return await self._pages.page(query, [query.name], lambda one: True)

    async def of_local_queue(self, query: Query) -> Page | None:
        """None where there is no LocalQueue of the name."""
        key = (query.namespace, query.name)
        local = self._world.cache.local_queues.get(key)
        if local is None:
            return None
        return await self._pages.page(query, [local.cluster_queue], lambda one: one.kind.queue == key)

    async def get(self, query: Query) -> Entry | None:
        """By the name of the pod or the gang."""
        found = await self._world.find(query.namespace, query.name)
        return None if found is None else await self._pages.only(self._world.line_of(found.kind.queue), found.uid)

    def _entry(self, snapshot: Snapshot, waiting: Waiting) -> Entry:
        one, place = waiting.workload, waiting.place
        namespace, local = one.kind.queue
        pod = self._world.cache.pods[one.pods[0]]
        reason, text = self._world.findings.why(snapshot, one)
        row = PendingWorkload(
            target=target_of(snapshot, one),
            cluster_queue=waiting.cluster_queue,
            local_queue=local,
            place=place.in_cluster_queue,
            place_in_local_queue=place.in_local_queue,
            priority=queue_priority(pod, job_of(pod, snapshot.running.jobs), snapshot.queues.priority_classes),
            pods=len(one.pods),
            requests=requests_of(one),
            user=pod.user,
            created=clock.rfc3339(one.since),
            reason=reason.value,
            message=text + self._world.findings.note(snapshot, pod),
            start=self._world.forecasts.row(one.pods[0]),
        )
        return Entry(one.name.rpartition("/")[-1], namespace, row, frozenset((namespace,)))
