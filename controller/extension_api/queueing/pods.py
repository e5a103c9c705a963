"""Pods of queues, as `penstock pods` shows them: those that wait in their order, then those admitted, by name."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Set
from dataclasses import replace
from operator import itemgetter

from msgspec import structs

from controller.core.snapshot import Snapshot
from controller.extension_api.queueing.line_pages import LinePages, Waiting, in_namespace
from controller.extension_api.queueing.world import World
from controller.extension_api.resources import HIDDEN, Column, Entry, Page, Query, Resource
from controller.extension_api.tables import age
from controller.kube import clock
from controller.visibility.rows import PodRow
from controller.visibility.start_rows import starts_in
from controller.visibility.workloads import admitted_row, waiting_row

_COLUMNS: tuple[Column[PodRow], ...] = (
    Column("LocalQueue", lambda row: row.local_queue, "The queue that it names."),
    Column("State", lambda row: row.state, "Pending, Reserved (admitted, on no node yet) or Running."),
    Column("Place", lambda row: row.place or None, "Its place in the ClusterQueue, 1 the first.", "integer"),
    Column("Starts-In", lambda row: starts_in(row.start, clock.now()), "The median of the forecasts."),
    Column("Since", lambda row: age(row.since, clock.now()), "For how long it has waited, or been admitted."),
    Column("Flavor", lambda row: row.flavor, "Onto which flavor it was admitted."),
    Column("Reason", lambda row: row.reason, "Why it waits."),
    Column("ClusterQueue", lambda row: row.cluster_queue, "Where its quota comes from.", is_wide=True),
    Column("Priority", lambda row: row.priority, "What orders it first.", "integer", is_wide=True),
    Column("Owner", lambda row: row.owner, "Its controller.", is_wide=True),
    Column("Node", lambda row: row.node, "Where it runs.", is_wide=True),
    Column("Message", lambda row: row.message, "Why it waits, in a sentence.", is_wide=True),
)
_ADMITTED = "="
"""A page that ended among those that wait is called as their line is, which never begins so."""


def queue_pods(world: World) -> Resource:
    """Return all pods that name a queue, and wait, are reserved or run."""
    return Resource(
        plural="queuepods",
        singular="queuepod",
        kind="QueuePod",
        is_namespaced=True,
        item=PodRow,
        columns=_COLUMNS,
        list=_Pods(world).list,
        redact=_redact,
    )


def _redact(entry: Entry, seen: Set[str]) -> Entry:
    """Leave out what tells whose it is: state, place, reason and what it asks for stay."""
    if entry.namespace in seen:
        return entry
    row = entry.row
    if not isinstance(row, PodRow):
        raise TypeError(f"no row of a pod: {row!r}")
    named = dict.fromkeys(("namespace", "name", "local_queue", "owner", "group", "user"), HIDDEN)
    hidden = structs.replace(row, **named, node="", message="", start=None)
    return replace(entry, name=HIDDEN, namespace=HIDDEN, row=hidden, names=frozenset())


_key = itemgetter(0, 1)


class _Pods:
    def __init__(self, world: World) -> None:
        self._world = world
        self._waiting = LinePages(world, self._entry, lambda one: len(one.pods))

    async def list(self, query: Query) -> Page:
        if query.after.startswith(_ADMITTED):
            return await self._admitted(query)
        page = await self._waiting.page(query, self._world.line_names(query.namespace), in_namespace(query))
        if page.end:
            return page
        rest = await self._admitted(replace(query, after=_ADMITTED, limit=query.limit - len(page.entries)))
        return replace(rest, entries=[*page.entries, *rest.entries])

    def _entry(self, snapshot: Snapshot, waiting: Waiting) -> Entry:
        one = waiting.workload
        pod = self._world.cache.pods[one.pods[waiting.row]]
        findings, why = self._world.findings, self._world.findings.why(snapshot, one)
        start = self._world.forecasts.row(pod.uid)
        return _entry_of(waiting_row(snapshot, findings, pod, waiting.cluster_queue, waiting.place, why, start))

    async def _admitted(self, query: Query) -> Page:
        """Return those behind the namespace/name that the page before ended with; `limit` may be 0."""
        known = await self._world.admitted.get()
        namespace, _, name = query.after.removeprefix(_ADMITTED).partition("/")
        begin = bisect_right(known, max((namespace, name), (query.namespace,)), key=_key)
        end = bisect_right(known, (f"{query.namespace}\0",), key=_key) if query.namespace else len(known)
        chosen = known[begin : max(begin, min(begin + query.limit, end))]
        remaining = max(0, end - begin - len(chosen))
        last = "/".join(_key(chosen[-1])) if chosen else f"{namespace}/{name}"
        snapshot = await self._world.snapshot()
        entries = await self._world.turns.through(self._admitted_entry(snapshot, one[2]) for one in chosen)
        return Page([one for one in entries if one is not None], f"{_ADMITTED}{last}" if remaining else "", remaining)

    def _admitted_entry(self, snapshot: Snapshot, uid: str) -> Entry | None:
        pod = self._world.cache.pods.get(uid)
        row = None if pod is None else admitted_row(snapshot, self._world.findings, pod)
        return None if row is None else _entry_of(row)


def _entry_of(row: PodRow) -> Entry:
    return Entry(row.name, row.namespace, row, frozenset((row.namespace,)))
