"""Writes the statuses of our own objects: those that differ, each at most every two seconds, ten a second in all."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any

from controller.cache.cluster import ClusterCache
from controller.cache.written import Written
from controller.core.keys import GROUP, VERSION
from controller.kube import clock
from controller.kube.client import MERGE_PATCH, Client
from controller.kube.errors import Conflict, KubeError, NotFound
from controller.objects.read import Entry, Key
from controller.runtime.budget_status import budgets_status, news
from controller.runtime.fair_sharing_status import past_usage_status
from controller.runtime.local_queue_status import local_queue_status
from controller.runtime.queue_status import cluster_queue_status
from controller.runtime.status import (
    Status,
    flavor_status,
    policy_status,
    priority_class_status,
    scheduling_policy_status,
    workload_kind_status,
)
from controller.telemetry import logs
from controller.telemetry.metrics import ControllerMetrics

_log = logs.get("status")

Json = dict[str, Any]

_ROUND_SECONDS = 1.0
_OBJECT_SECONDS = 2.0
_PER_ROUND = 10
_PATIENT_SECONDS = 30.0
"""What a LocalQueue says of its ClusterQueue changes for all that lead there with each pod: that much may wait."""
_PART = 20
"""So many statuses are worked out before others have their turn."""


@dataclass(frozen=True, slots=True)
class _Kind:
    plural: str
    entries: dict[Key, Entry]
    status: Callable[[ClusterCache, Entry, float], Status]
    patient: frozenset[str] = frozenset()
    """Fields that need not be brought up to date as soon as the others."""


@dataclass(frozen=True, slots=True)
class _Due:
    """A status to write, and Events of what it says for the first time."""

    where: tuple[str, Key]
    path: str
    status: Status
    news: list[Json]


class StatusLane:
    """Keeps status in step with the cache."""

    def __init__(
        self, client: Client, cache: ClusterCache, written: Written, metrics: ControllerMetrics, *, instance: str
    ) -> None:
        """`instance` is who we are in Events."""
        self._client = client
        self._instance = instance
        self._cache = cache
        self._metrics = metrics
        self._kinds = (
            _Kind("clusterqueues", written.cluster_queues, cluster_queue_status),
            _Kind("localqueues", written.local_queues, local_queue_status, frozenset({"quota"})),
            _Kind("resourceflavors", written.flavors, flavor_status),
            _Kind("workloadkinds", written.workload_kinds, workload_kind_status),
            _Kind("workloadpriorityclasses", written.priority_classes, priority_class_status),
            _Kind("clusterpodschedulingpolicies", written.cluster_policies, policy_status),
            _Kind("podschedulingpolicies", written.policies, policy_status),
            _Kind("schedulingpolicies", written.scheduling_policies, scheduling_policy_status),
        )
        self._written_at: dict[tuple[str, Key], float] = {}
        """Monotonic: where the wall clock goes back, nothing would be written until it is there again."""

    async def run(self) -> None:
        """Write until cancelled."""
        while True:
            await asyncio.sleep(_ROUND_SECONDS)
            await self.round(clock.now())

    async def round(self, now: float) -> None:
        """Write what is due, and tell what is new in it. `now`, epoch seconds, is what the statuses say."""
        for due in await self._changed(now):
            if await self._write(due.path, due.status):
                await self._tell(due.news)

    async def settle(self, now: float) -> None:
        """Write what budgets and LocalQueues have used by now: whoever leads next counts on from there."""
        self._cache.advance(now)
        async for kind, key, entry in self._in_parts(self._kinds[:2]):
            status = self._unsettled(kind, key, entry)
            if status:
                await self._write(_path(kind.plural, key), status)

    def _unsettled(self, kind: _Kind, key: Key, entry: Entry) -> Status:
        """Return what has been used by now of a ClusterQueue's budgets, or in a LocalQueue, if that is not said yet."""
        bare = replace(entry, status={})
        if kind is self._kinds[0]:
            budgets = budgets_status(self._cache, bare, self._cache.cluster_queues.get(key[1])).get("budgets")
            return {"budgets": budgets} if budgets and budgets != entry.status.get("budgets") else {}
        past = past_usage_status(self._cache, bare)
        return {"fairSharing": past} if past is not None and past != entry.status.get("fairSharing") else {}

    async def _changed(self, now: float) -> list[_Due]:
        """Pick the statuses to write in this round, the longest unwritten first."""
        await self._forget_gone()
        found = [
            one async for kind, key, entry in self._in_parts(self._kinds) if (one := self._due(kind, key, entry, now))
        ]
        due = sorted(found, key=lambda one: self._written_at.get(one.where, -inf))[:_PER_ROUND]
        at = clock.monotonic()
        self._written_at.update((one.where, at) for one in due)
        return due

    async def _forget_gone(self) -> None:
        entries = {kind.plural: kind.entries for kind in self._kinds}
        for number, (plural, key) in enumerate(list(self._written_at), start=1):
            if key not in entries[plural]:
                del self._written_at[plural, key]
            if number % _PART == 0:
                await asyncio.sleep(0)

    async def _in_parts(self, kinds: Sequence[_Kind]) -> AsyncIterator[tuple[_Kind, Key, Entry]]:
        """Yield all objects of some kinds that are there when their turn comes; others go on in between."""
        for kind in kinds:
            for number, key in enumerate(list(kind.entries)):
                if number % _PART == 0:
                    await asyncio.sleep(0)
                entry = kind.entries.get(key)
                if entry is not None:
                    yield kind, key, entry

    def _due(self, kind: _Kind, key: Key, entry: Entry, now: float) -> _Due | None:
        where = (kind.plural, key)
        since = clock.monotonic() - self._written_at.get(where, -inf)
        if since < _OBJECT_SECONDS:
            return None
        status = kind.status(self._cache, entry, now)
        changed = {name for name, value in status.items() if entry.status.get(name) != value}
        if not changed or (changed <= kind.patient and since < _PATIENT_SECONDS):
            return None
        told = news(self._cache, entry, status, instance=self._instance, now=now)
        return _Due(where, _path(kind.plural, key), _merging(entry.status, status), told)

    async def _write(self, path: str, status: Status) -> bool:
        """Say whether it is written."""
        params = {"fieldManager": "penstock"}
        try:
            await self._client.patch(path, {"status": status}, content_type=MERGE_PATCH, params=params)
        except NotFound:
            return False
        except KubeError as error:
            self._metrics.side_writes.labels("status", "failed").inc()
            _log.warning("status_unwritten", path=path, error=str(error))
            return False
        self._metrics.side_writes.labels("status", "written").inc()
        return True

    async def _tell(self, news: list[Json]) -> None:
        for event in news:
            try:
                await self._client.post(f"/api/v1/namespaces/{event['metadata']['namespace']}/events", event)
            except Conflict:
                continue
            except KubeError as error:
                self._metrics.side_writes.labels("event", "failed").inc()
                _log.warning("event_unwritten", name=event["metadata"]["name"], error=str(error))
                continue
            self._metrics.side_writes.labels("event", "written").inc()


def _merging(standing: Status, status: Status) -> Status:
    """A merge patch keeps what it does not name: null takes away what is there no longer, such as a resource."""
    former = {name: value for name, value in standing.items() if isinstance(value, dict)}
    return {
        name: {**dict.fromkeys(former.get(name, ())), **value} if isinstance(value, dict) else value
        for name, value in status.items()
    }


def _path(plural: str, key: Key) -> str:
    namespace, name = key
    scope = f"namespaces/{namespace}/" if namespace else ""
    return f"/apis/{GROUP}/{VERSION}/{scope}{plural}/{name}/status"
