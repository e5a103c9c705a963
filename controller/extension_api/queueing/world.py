"""The cache for who only reads: a snapshot whose queues stay, and where each workload stands in its line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import merge
from operator import itemgetter
from typing import Any, Final

from controller.cache.cluster import ClusterCache
from controller.core.snapshot import Snapshot
from controller.core.turns.heads import Heads
from controller.core.workloads.charges import Charge
from controller.core.workloads.pods import Phase, Pod
from controller.core.workloads.workload import QueueKey, Workload
from controller.extension_api.pacing import Turns
from controller.extension_api.queueing.shared import Shared
from controller.visibility.findings import Findings
from controller.visibility.lines import Place, each_place, line_of, queue_alone_in
from controller.visibility.queues import Counts, QueueRows
from controller.visibility.start_forecasts import StartForecasts

_PART: Final = 200
"""So many are put in order without a look at the time."""
_Keyed = tuple[tuple[Any, ...], Workload]
Named = tuple[str, str, str]
"""Namespace, name and uid of a pod."""


@dataclass(frozen=True, slots=True)
class Line:
    """Who waits for a ClusterQueue in order, everybody's place, and the index of each uid."""

    workloads: Sequence[Workload]
    places: Sequence[Place]
    index: Mapping[str, int]


class World:
    """What the resources read. All of it is at most a second old; what a row says is of the moment it is written."""

    def __init__(self, cache: ClusterCache, forecasts: StartForecasts, turns: Turns) -> None:
        self.cache = cache
        self.forecasts = forecasts
        self.turns = turns
        self.findings = Findings(cache.reasons.of)
        self.lines: Shared[Line] = Shared(self._line)
        self.admitted: Shared[Sequence[Named]] = Shared(self._sort_admitted)
        self._snapshots: Shared[Snapshot] = Shared(self._read)
        self._rows: Shared[QueueRows] = Shared(self._count)

    async def snapshot(self) -> Snapshot:
        """Return a snapshot with all queues and flavors that there are: who has just made one looks for it."""
        known = await self._snapshots.get()
        if self._has_all(known):
            return known
        self._snapshots.forget()
        return await self._snapshots.get()

    async def rows(self) -> QueueRows:
        """Return the rows of all queues that there are."""
        known = await self._rows.get()
        if self._has_all(known.snapshot):
            return known
        self._rows.forget()
        return await self._rows.get()

    def _has_all(self, snapshot: Snapshot) -> bool:
        known, cache = snapshot.queues, self.cache
        pairs = (
            (known.cluster_queues, cache.cluster_queues),
            (known.local_queues, cache.local_queues),
            (known.faulty, cache.faulty_queues),
            (known.flavors, cache.flavors),
        )
        return all(one.keys() == other.keys() for one, other in pairs)

    def line_names(self, namespace: str = "") -> list[str]:
        """Return in which lines anybody of a namespace (empty: of any) stands, by name."""
        return sorted({self.line_of(key) for key in self._waiting_in(namespace)})

    def line_of(self, key: QueueKey) -> str:
        """Return the line in which those of a LocalQueue stand."""
        return line_of(self.cache.local_queues, key)

    async def find(self, namespace: str, name: str) -> Workload | None:
        """Return the workload of a namespace that waits under this name."""
        full, backlog = f"{namespace}/{name}", self.cache.backlog
        kinds = [kind for key in self._waiting_in(namespace) for kind in backlog.classes(key)]
        parts = (one for kind in kinds for one in list(backlog.runs.get(kind, ())))
        found = await self.turns.through(one if one.name == full else None for one in parts)
        return next((one for one in found if one is not None), None)

    def _waiting_in(self, namespace: str) -> list[QueueKey]:
        return [key for key in self.cache.backlog.queues() if namespace in ("", key[0])]

    def waits(self, workload: Workload) -> bool:
        """Whether a workload of a line still waits, with all that a row says of it."""
        return workload.uid in self.cache.backlog and workload.pods[0] in self.cache.pods

    async def _read(self, key: str) -> Snapshot:
        """Return the cache as it is. What is set up is copied; pods, usage and who waits go on underneath."""
        del key
        async with self.turns.one():
            seen = self.cache.view()
            queues = replace(
                seen.queues,
                cluster_queues=dict(seen.queues.cluster_queues),
                local_queues=dict(seen.queues.local_queues),
                flavors=dict(seen.queues.flavors),
                faulty=dict(seen.queues.faulty),
            )
            return replace(seen, queues=queues)

    async def _count(self, key: str) -> QueueRows:
        del key
        snapshot, counts = await self.snapshot(), Counts()
        await self.turns.through(counts.count(snapshot))
        async with self.turns.one():
            return QueueRows(snapshot, counts)

    async def _line(self, name: str) -> Line:
        snapshot = await self.snapshot()
        parts = await self.turns.through(_parts(self.cache, snapshot, self._queues_in(name)))
        workloads = await self.turns.through(one for _, one in merge(*parts, key=itemgetter(0)))
        places = await self.turns.through(each_place(workloads))
        async with self.turns.one():
            return Line(workloads, places, {one.uid: at for at, one in enumerate(workloads)})

    async def _sort_admitted(self, key: str) -> Sequence[Named]:
        """Return the pods that are admitted, also those of which that was not seen back yet, by namespace and name."""
        del key
        charges, pods = self.cache.usage.charges, list(self.cache.pods.values())
        parts = [pods[begin : begin + _PART] for begin in range(0, len(pods), _PART)]
        ordered = await self.turns.through(sorted(_admitted(charges, part)) for part in parts)
        return await self.turns.through(merge(*ordered))

    def _queues_in(self, line: str) -> Sequence[QueueKey]:
        own = queue_alone_in(line)
        return self.cache.queues_of(line) if own is None else [own]


def _admitted(charges: Mapping[str, Charge], pods: Sequence[Pod]) -> Iterator[Named]:
    for pod in pods:
        charge = None if pod.is_admitted else charges.get(pod.uid)
        if pod.is_admitted or (charge is not None and charge.phase is Phase.RESERVED):
            yield pod.namespace, pod.name, pod.uid


def _parts(cache: ClusterCache, snapshot: Snapshot, queues: Sequence[QueueKey]) -> Iterator[list[_Keyed]]:
    """Yield what waits in these, part by part of each class, each with its place among all and in order.

    The decision's own `Heads` says it: who has begun to preempt comes first, wherever it is in its class.
    """
    heads = Heads(snapshot)
    for kind in [kind for key in queues for kind in cache.backlog.classes(key)]:
        run = list(cache.backlog.runs.get(kind, ()))
        for begin in range(0, len(run), _PART):
            part = range(begin, min(begin + _PART, len(run)))
            yield sorted(((heads.of(run, at)[:3], run[at]) for at in part), key=itemgetter(0))
