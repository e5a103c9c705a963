"""For which reasons the pods of a queue wait: a list below each ClusterQueue and each LocalQueue."""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import replace

from msgspec import structs

from controller.core.snapshot import Snapshot
from controller.extension_api.queueing.copies import Copies
from controller.extension_api.queueing.world import World
from controller.extension_api.resources import HIDDEN, Column, Entry, Page, Query, Resource
from controller.visibility.explanation_rows import QueueExplanation, ReasonRow
from controller.visibility.findings import Findings
from controller.visibility.queue_explanations import explain_cluster_queue, explain_local_queue

_COLUMNS: tuple[Column[ReasonRow], ...] = (
    Column("Pods", lambda row: row.pods, "How many pods wait for it.", "integer"),
    Column("First", lambda row: row.first, "The first of them in line."),
    Column("Namespace", lambda row: row.namespace, "Where that is."),
    Column("Message", lambda row: row.message, "Why that waits, in a sentence.", is_wide=True),
)
_Explain = Callable[[Snapshot, Findings], QueueExplanation | None]


def waiting_reasons(world: World, copies: Copies) -> tuple[Resource, Resource]:
    """Return those of ClusterQueues and of LocalQueues."""
    reasons = _Reasons(world, copies)
    of_cluster_queues = Resource(
        plural="clusterqueues",
        singular="reason",
        kind="Reason",
        is_namespaced=False,
        subresource="reasons",
        item=ReasonRow,
        columns=_COLUMNS,
        list=reasons.of_cluster_queue,
        redact=_redact,
    )
    return of_cluster_queues, replace(
        of_cluster_queues, plural="localqueues", is_namespaced=True, list=reasons.of_local_queue
    )


def _redact(entry: Entry, seen: Set[str]) -> Entry:
    """Leave out who is the first."""
    row = entry.row
    if not isinstance(row, ReasonRow):
        raise TypeError(f"no reason: {row!r}")
    if row.namespace in seen:
        return entry
    return replace(entry, row=structs.replace(row, first=HIDDEN, namespace=HIDDEN, message=""))


class _Reasons:
    def __init__(self, world: World, copies: Copies) -> None:
        self._world = world
        self._copies = copies

    async def of_cluster_queue(self, query: Query) -> Page | None:
        """None where there is no ClusterQueue of the name."""
        if query.name not in self._world.cache.cluster_queues and query.name not in self._world.cache.faulty_queues:
            return None
        return await self._page(query, lambda snapshot, found: explain_cluster_queue(snapshot, found, query.name))

    async def of_local_queue(self, query: Query) -> Page | None:
        """None where there is no LocalQueue of the name."""
        space, name = query.namespace, query.name
        if (space, name) not in self._world.cache.local_queues:
            return None
        return await self._page(query, lambda snapshot, found: explain_local_queue(snapshot, found, space, name))

    async def _page(self, query: Query, explain: _Explain) -> Page:
        findings = self._world.findings

        def reasons(snapshot: Snapshot) -> tuple[ReasonRow, ...]:
            told = explain(snapshot, findings)
            return () if told is None else told.reasons

        rows = await self._copies.of(tuple[ReasonRow, ...], reasons)
        named = frozenset({query.namespace} - {""})
        return Page([Entry(one.reason, query.namespace, one, named | {one.namespace}) for one in rows])
