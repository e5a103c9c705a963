"""Why one workload waits: the arithmetic, its place, and who holds what it waits for.

Which change would admit it takes tens of decisions: `extension_api/queueing/remedies` has them tried.
"""

from __future__ import annotations

import asyncio
from collections.abc import Set
from dataclasses import dataclass, replace

from msgspec import structs

from controller.core.snapshot import Snapshot
from controller.core.workloads.decisions import Blocker
from controller.core.workloads.pods import Pod
from controller.core.workloads.workload import Workload, among_all
from controller.extension_api.queueing.world import World
from controller.extension_api.resources import EVERYWHERE, HIDDEN, Column, Entry, Query, Resource
from controller.kube.clock import rfc3339
from controller.replay.outcome import stands
from controller.visibility.explanation_rows import ExplanationRow, HolderRow, HolderRows
from controller.visibility.explanations import finding
from controller.visibility.holders import each_holder, rows
from controller.visibility.lines import cluster_queue_of
from controller.visibility.remedies_in_flavors import is_ended_by_others
from controller.visibility.targets import target_of
from controller.visibility.workloads import group_name, requests_of

_MOST_AHEAD = 3
_MOST_SENTENCES = 10


_COLUMNS: tuple[Column[ExplanationRow], ...] = (
    Column("Place", lambda row: row.place, "Its place in the ClusterQueue, 1 the first.", "integer"),
    Column("Reason", lambda row: row.reason, "Why it waits."),
    Column("Message", lambda row: row.message, "Why it waits, in a sentence."),
)


def explanations(explaining: Explaining) -> Resource:
    """Return the explanations, each by the kind and the name of what is explained."""
    return Resource(
        plural="explanations",
        singular="explanation",
        kind="Explanation",
        is_namespaced=True,
        item=ExplanationRow,
        columns=_COLUMNS,
        get=explaining.get,
        redact=_redact,
    )


def _redact(entry: Entry, seen: Set[str]) -> Entry:
    """Leave out names of workloads, and of users where others of other namespaces are among them, and when those end.

    The same of queues: pods of all namespaces are in them.
    """
    row = entry.row
    if not isinstance(row, ExplanationRow):
        raise TypeError(f"no explanation: {row!r}")

    def shown(name: str) -> str:
        return name if _namespace_of(name) in seen else HIDDEN

    def held(one: HolderRows) -> HolderRows:
        workloads = tuple(it if _namespace_of(it.name) in seen else _unnamed(it) for it in one.workloads)
        if seen >= EVERYWHERE:
            return structs.replace(one, workloads=workloads)
        queues = tuple(structs.replace(it, ends="") for it in one.queues)
        return structs.replace(one, queues=queues, users=tuple(map(_unnamed, one.users)), workloads=workloads)

    holders = tuple(map(held, row.holders))
    return replace(entry, row=structs.replace(row, ahead=tuple(map(shown, row.ahead)), holders=holders))


def _unnamed(row: HolderRow) -> HolderRow:
    return structs.replace(row, name=HIDDEN, ends="")


def _namespace_of(name: str) -> str:
    return name.partition("/")[0]


@dataclass(frozen=True, slots=True)
class Explained:
    """What a name stands for: all its pods, the workloads that wait, and the first of these in order."""

    snapshot: Snapshot
    pods: list[Pod]
    waiting: int
    first: Workload | None


class Explaining:
    """Finds what a name stands for, and explains it."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def find(self, query: Query) -> Explained | None:
        """Return what a name stands for; None: nothing has it."""
        kind, _, name = query.name.partition(".")
        snapshot = await self._world.snapshot()
        pods = await self._pods(snapshot, query.namespace, kind, name)
        if not pods:
            return None
        waits = await self._world.turns.through(self._world.cache.backlog.of_pod(one.uid) for one in pods)
        waiting = {one.uid: one for one in waits if one is not None}
        first = min(waiting.values(), key=lambda one: among_all(one.order), default=None)
        return Explained(snapshot, pods, len(waiting), first)

    async def get(self, query: Query) -> Entry | None:
        """Explain what has the name of the query, `kind.name`."""
        found = await self.find(query)
        if found is None:
            return None
        if found.first is None:
            told = [f"{one.key} {stands(one)}" for one in found.pods[:_MOST_SENTENCES]]
            more = [f"and {len(found.pods) - len(told)} more"] if len(found.pods) > len(told) else []
            row = ExplanationRow(waiting=0, message="; ".join((*told, *more)))
        else:
            row = await self._row(found.snapshot, found.first, found.waiting)
        names = [*row.ahead, *(it.name for one in row.holders for it in one.workloads)]
        everywhere = EVERYWHERE if any(one.users for one in row.holders) else frozenset[str]()
        named = everywhere.union((query.namespace,), map(_namespace_of, names))
        return Entry(query.name, query.namespace, row, named)

    async def _pods(self, snapshot: Snapshot, namespace: str, kind: str, name: str) -> list[Pod]:
        every = list(self._world.cache.pods.values())
        found = await self._world.turns.through(
            one if one.namespace == namespace and _is_of(snapshot, one, kind, name) else None for one in every
        )
        return [one for one in found if one is not None]

    async def _row(self, snapshot: Snapshot, one: Workload, waiting: int) -> ExplanationRow:
        world = self._world
        name = world.line_of(one.kind.queue)
        queue, line = cluster_queue_of(name), await world.lines.get(name)
        at = line.index.get(one.uid, 0)
        place = line.places[at] if one.uid in line.index else None
        wait = world.findings.wait_of(one.kind).of(one.uid)
        short = [blocker for blocker in wait.blockers if is_ended_by_others(blocker)]
        held = [await self._holders(snapshot, one, blocker) for blocker in short]
        reason, text = world.findings.why(snapshot, one)
        return ExplanationRow(
            waiting=waiting,
            message=text,
            reason=reason.value,
            name=one.name.rpartition("/")[-1],
            target=target_of(snapshot, one),
            pods=one.kind.wanted,
            requests=requests_of(one),
            local_queue=one.kind.queue[1],
            path=snapshot.queues.tree.path(queue) if queue in snapshot.queues.cluster_queues else (),
            created=rfc3339(one.since),
            place=0 if place is None else place.in_cluster_queue,
            place_in_local_queue=0 if place is None else place.in_local_queue,
            ahead=tuple(it.name for it in line.workloads[max(0, at - _MOST_AHEAD) : at]),
            flavors=tuple(map(finding, wait.blockers)),
            holders=tuple(it for it in held if it is not None),
        )

    async def _holders(self, snapshot: Snapshot, one: Workload, blocker: Blocker) -> HolderRows | None:
        every = await self._world.turns.through(each_holder(snapshot, one.kind, blocker))
        found = [it for it in every if it is not None]
        # by a thread: all that is read has been worked out, and there may be as many as pods
        return await asyncio.to_thread(rows, found, blocker) if found else None


def _is_of(snapshot: Snapshot, pod: Pod, kind: str, name: str) -> bool:
    if pod.queue is None:
        return False
    if kind == "pod":
        return pod.name == name
    if kind == "group":
        return group_name(snapshot.running.jobs, pod) == name
    return pod.owner is not None and (pod.owner.kind.lower(), pod.owner.name) == (kind, name)
