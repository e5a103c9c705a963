"""Carry out evictions: say on the pod who and why, then ask the Eviction API. The only place where we take a pod away.

Each is tried once. What is refused is let go for a while; the next decision then says whether it is still wanted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from controller.cache.cluster import ClusterCache
from controller.core.decisions import Evict
from controller.core.keys import EVICTION
from controller.core.pods import Pod
from controller.kube import clock
from controller.kube.client import STRATEGIC_PATCH, Client
from controller.kube.errors import Conflict, KubeError, NotFound, one_line
from controller.telemetry import logs
from controller.telemetry.metrics import ControllerMetrics, EvictionResult

_log = logs.get("evictions")

_WORKERS = 4
_FIRST_PAUSE = 5.0
_LONGEST_PAUSE = 300.0
_DOUBLINGS = 6
_MESSAGE_ROOM = 1024
_REFUSED = "EvictionRefused"


class EvictionLane:
    """A few workers over one queue. `submit` at any time; what is under way is in the cache's `evictions`."""

    def __init__(
        self,
        client: Client,
        cache: ClusterCache,
        metrics: ControllerMetrics,
        *,
        on_evicted: Callable[[Evict], None],
        wake: Callable[[], None],
    ) -> None:
        """`wake` is called when one was refused, as others may go in its place, and when it may be decided on again."""
        self._client = client
        self._cache = cache
        self._metrics = metrics
        self._on_evicted = on_evicted
        self._wake = wake
        self._queue: asyncio.Queue[Evict] = asyncio.Queue()

    def submit(self, evict: Evict) -> None:
        """Carry this out, unless it is under way already."""
        if evict.pod.uid not in self._cache.evictions.under_way:
            self._cache.evictions.begin(evict)
            self._queue.put_nowait(evict)

    async def run(self) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as group:
            for number in range(_WORKERS):
                group.create_task(self._work(), name=f"evict-{number}")

    async def _work(self) -> None:
        while True:
            await self.evict(await self._queue.get())

    async def evict(self, evict: Evict) -> None:
        """Try once, and tell the cache, the pod and its Events what came of it."""
        pod = evict.pod
        if pod.uid not in self._cache.evictions.under_way:
            return  # the pod went by itself
        try:
            # before, not after: the kubelet, the owner and people must find the reason on a pod that goes
            await self._tell(pod, "True", evict.cause.value, evict.text)
            await self._client.post(f"{_path(pod)}/eviction", _eviction(pod))
        except (NotFound, Conflict):
            # gone, or another pod of that name
            self._cache.evictions.forget(pod.uid)
            self._count(evict, EvictionResult.GONE)
        except KubeError as error:
            await self._refused(evict, error)
        else:
            self._count(evict, EvictionResult.EVICTED)
            self._on_evicted(evict)
            _log.info("pod_evicted", pod=pod.key, cause=evict.cause.value, why=evict.text)

    async def _refused(self, evict: Evict, error: KubeError) -> None:
        """Most often by a PodDisruptionBudget (429): let it go for a while that doubles, up to five minutes."""
        text = one_line(error)
        times = self._cache.evictions.refuse(evict.pod.uid, text)
        pause = min(_FIRST_PAUSE * 2 ** min(times - 1, _DOUBLINGS), _LONGEST_PAUSE)
        asyncio.get_running_loop().call_later(pause, self._retry, evict.pod.uid)
        self._wake()
        self._count(evict, EvictionResult.REFUSED)
        _log.warning("eviction_refused", pod=evict.pod.key, error=text, retry_seconds=pause)
        try:
            await self._tell(evict.pod, "False", _REFUSED, f"{evict.text}; refused for now: {text}")
        except KubeError as untold:
            _log.warning("eviction_untold", pod=evict.pod.key, error=one_line(untold))

    def _retry(self, uid: str) -> None:
        self._cache.retry_eviction(uid)
        self._wake()

    async def _tell(self, pod: Pod, status: str, reason: str, message: str) -> None:
        time = clock.rfc3339(clock.now())
        condition = {
            "type": EVICTION,
            "status": status,
            "reason": reason,
            "message": message[:_MESSAGE_ROOM],
            "lastProbeTime": time,
            "lastTransitionTime": time,
        }
        # strategic: a merge patch would wipe the scheduler's conditions; the uid guards against a namesake
        body = {"metadata": {"uid": pod.uid}, "status": {"conditions": [condition]}}
        params = {"fieldManager": "penstock"}
        await self._client.patch(f"{_path(pod)}/status", body, content_type=STRATEGIC_PATCH, params=params)

    def _count(self, evict: Evict, result: EvictionResult) -> None:
        charge = self._cache.usage.charge_of(evict.pod.uid)
        queue = charge.cluster_queue if charge is not None else evict.pod.cluster_queue or ""
        self._metrics.evictions.labels(queue, evict.cause.value, result.value).inc()


def _path(pod: Pod) -> str:
    return f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}"


def _eviction(pod: Pod) -> dict[str, Any]:
    return {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": pod.name, "namespace": pod.namespace},
        "deleteOptions": {"preconditions": {"uid": pod.uid}},
    }
