"""Put Jobs that were suspended after they had been admitted back as their users wrote them, so that they wait again.

The apiserver lets a template change only when the Job controller has seen the suspension, so this is a patch of its
own. Until then the Job holds nothing: its pods are charged for as long as they exist. A patch that is lost is sent
again, since the Job keeps its stamps.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import orjson

from controller.cache.cluster import ClusterCache
from controller.core.gate.job_release import restore_patch
from controller.core.gate.json_patch import Operations
from controller.core.gate.object_release import restore_object_patch
from controller.core.keys import ADMITTED_JOB, CLUSTER_QUEUE, ORIGINAL_TEMPLATE
from controller.core.workload_kinds.reading import UnreadablePodSets
from controller.core.workloads.held_sets import place_of
from controller.core.workloads.pods import Pod
from controller.kube import clock
from controller.kube.backoff import Backoff
from controller.kube.client import Client
from controller.kube.decode_jobs import run_time_of
from controller.kube.errors import KubeError, NotFound, one_line
from controller.runtime.pod_requests import patch_pod, pod_path
from controller.telemetry import logs

_log = logs.get("job_restorer")
_IDLE_SECONDS = 0.1
_AT_ONCE = 8
_BACKOFF = Backoff(first=1.0, longest=60.0)


class JobRestorer:
    """Works on the Jobs that the cache has as stopped, several at a time."""

    def __init__(self, client: Client, cache: ClusterCache, *, held: Callable[[], Awaitable[None]]) -> None:
        """`held` waits until we surely lead."""
        self._client = client
        self._cache = cache
        self._held = held
        self._failures: dict[str, tuple[int, float]] = {}
        """Of Jobs whose patch failed: how often, and when to try again, monotonic seconds."""

    async def run(self) -> None:
        """Work until cancelled."""
        while True:
            stopped = self._cache.stopped_jobs
            self._failures = {uid: known for uid, known in self._failures.items() if uid in stopped}
            due = [job for uid, job in stopped.items() if self._is_due(uid) and not self._has_pods(job)][:_AT_ONCE]
            if due:
                await self._held()
                await asyncio.gather(*map(self._restore, due))
            await asyncio.sleep(_IDLE_SECONDS)

    def _is_due(self, uid: str) -> bool:
        return uid not in self._failures or self._failures[uid][1] <= clock.monotonic()

    def _has_pods(self, job: Pod) -> bool:
        """Whether an object of a WorkloadKind still has pods: the status of a Job says so itself."""
        if job.held_set is None:
            return False
        sets = self._cache.workload_kinds.sets_of(job.held_set.uid)
        return any(self._cache.admitted_jobs.has_pods(job.namespace, uid) for uid in sets)

    def _patch(self, job: Pod, document: dict[str, Any]) -> Operations:
        """Return the patch that puts it back; none where that has happened, or where its kind is known no more."""
        if job.held_set is None:
            return restore_patch(document, ran=run_time_of(document)) if _is_stamped(document) else []
        kind = self._cache.workload_kinds.known.get(job.held_set.kind)
        is_stamped = ORIGINAL_TEMPLATE in (document["metadata"].get("annotations") or {})
        return [] if kind is None or not is_stamped else restore_object_patch(kind, document)

    async def _restore(self, job: Pod) -> None:
        """Send the patch; what becomes of it the watch shows, and until it does, the next one fails its tests."""
        try:
            document = orjson.loads(await self._client.get(pod_path(job)))
            if document["metadata"]["uid"] == place_of(job).uid and (patch := self._patch(job, document)):
                await patch_pod(self._client, job, patch)
            times = 0
        except NotFound:
            times = 0
        except (KubeError, UnreadablePodSets) as error:
            times = self._failures.get(place_of(job).uid, (0, 0.0))[0] + 1
            _log.warning("job_not_restored", job=job.key, error=one_line(error))
        self._failures[place_of(job).uid] = (times, clock.monotonic() + _BACKOFF.delay(max(1, times)))


def _is_stamped(document: Mapping[str, Any]) -> bool:
    """Whether the Job, or its template, still says that it was admitted."""
    notes = (document["spec"]["template"].get("metadata") or {}).get("annotations") or {}
    return ADMITTED_JOB in notes or CLUSTER_QUEUE in (document["metadata"].get("labels") or {})
