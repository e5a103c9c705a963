"""Put Jobs that were suspended after they had been admitted back as their users wrote them, so that they wait again.

The apiserver lets a template change only when the Job controller has seen the suspension, so this is a patch of its
own. Until then the Job holds nothing: its pods are charged for as long as they exist. A patch that is lost is sent
again, since the Job keeps its stamps.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import orjson

from controller.cache.cluster import ClusterCache
from controller.core.gate.job_release import restore_patch
from controller.core.keys import ADMITTED_JOB
from controller.core.workloads.pods import Pod
from controller.kube import clock
from controller.kube.backoff import Backoff
from controller.kube.client import Client
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
            due = [job for uid, job in stopped.items() if self._is_due(uid)][:_AT_ONCE]
            if due:
                await self._held()
                await asyncio.gather(*map(self._restore, due))
            await asyncio.sleep(_IDLE_SECONDS)

    def _is_due(self, uid: str) -> bool:
        return uid not in self._failures or self._failures[uid][1] <= clock.monotonic()

    async def _restore(self, job: Pod) -> None:
        """Send the patch; what becomes of it the watch shows, and until it does, the next one fails its tests."""
        try:
            document = orjson.loads(await self._client.get(pod_path(job)))
            notes = (document["spec"]["template"].get("metadata") or {}).get("annotations") or {}
            if document["metadata"]["uid"] == job.uid and ADMITTED_JOB in notes:
                await patch_pod(self._client, job, restore_patch(document))
            times = 0
        except NotFound:
            times = 0
        except KubeError as error:
            times = self._failures.get(job.uid, (0, 0.0))[0] + 1
            _log.warning("job_not_restored", job=job.key, error=one_line(error))
        self._failures[job.uid] = (times, clock.monotonic() + _BACKOFF.delay(max(1, times)))
