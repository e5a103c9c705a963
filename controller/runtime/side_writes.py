"""Writes beside the release patch: one Event a release, and the condition that says why a pod waits.

Both are best effort and slow on purpose: a long queue must not flood the apiserver, and releases come first.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any

from controller.cache.cluster import ClusterCache
from controller.core.keys import CONDITION
from controller.core.pods import Phase, Pod
from controller.core.reasons import Reason
from controller.core.wording import describe
from controller.kube import clock
from controller.kube.client import STRATEGIC_PATCH, Client
from controller.kube.decode import PodDecoder
from controller.kube.errors import Conflict, KubeError, NotFound
from controller.runtime.executor import Released
from controller.telemetry import events, logs
from controller.telemetry.metrics import ControllerMetrics

_log = logs.get("side_writes")

_EVENT_WORKERS = 2
_EVENT_BACKLOG = 20_000
_CONDITION_PAUSE = 0.05
"""At most 20 conditions a second."""
_SETTLING_SECONDS = 5.0
"""A pod that is released within this time never gets a condition."""
_MESSAGE_ROOM = 1024


class EventLane:
    """Publishes one Event a release. What does not fit into the backlog is dropped and counted: it is only news."""

    def __init__(self, client: Client, metrics: ControllerMetrics, *, instance: str) -> None:
        self._client = client
        self._metrics = metrics
        self._instance = instance
        self._queue: asyncio.Queue[tuple[Released, float]] = asyncio.Queue(_EVENT_BACKLOG)

    def announce(self, released: Released) -> None:
        """Queue the Event of a release."""
        try:
            self._queue.put_nowait((released, clock.now()))
        except asyncio.QueueFull:
            self._metrics.side_writes.labels("event", "dropped").inc()

    async def run(self) -> None:
        """Publish until cancelled."""
        async with asyncio.TaskGroup() as group:
            for number in range(_EVENT_WORKERS):
                group.create_task(self._work(), name=f"events-{number}")

    async def _work(self) -> None:
        while True:
            released, when = await self._queue.get()
            event = events.admitted(released.pod, released.admit, instance=self._instance, now=when)
            path = f"/api/v1/namespaces/{released.pod.namespace}/events"
            await _attempt(self._metrics, "event", self._client.post(path, event))


class ConditionLane:
    """Writes `penstock.dev/Admissible`: released pods first, then the longest waiting whose reason changed."""

    def __init__(self, client: Client, cache: ClusterCache, metrics: ControllerMetrics, *, decode: PodDecoder) -> None:
        self._client = client
        self._cache = cache
        self._metrics = metrics
        self._decode = decode

    async def run(self) -> None:
        """Write until cancelled."""
        while True:
            await asyncio.sleep(_CONDITION_PAUSE)
            due = self._next(clock.now())
            if due is not None:
                pod, condition = due
                if await _attempt(self._metrics, "condition", self._write(pod, condition)):
                    continue
                self._put_back(pod)

    def _next(self, now: float) -> tuple[Pod, dict[str, Any]] | None:
        while self._cache.reasons.released:
            uid = next(iter(self._cache.reasons.released))
            del self._cache.reasons.released[uid]
            pod = self._cache.pods.get(uid)
            if pod is not None and not pod.is_finished and not pod.is_terminating:
                text = f"Admitted by ClusterQueue {pod.cluster_queue} onto flavor {pod.flavor}"
                return pod, _condition("True", "Admitted", text, now)
        while (uid_due := self._cache.reasons.next_queued(now - _SETTLING_SECONDS)) is not None:
            waiting = self._waiting(uid_due, now)
            if waiting is not None:
                return waiting
        return None

    def _waiting(self, uid: str, now: float) -> tuple[Pod, dict[str, Any]] | None:
        pod, workload = self._cache.pods.get(uid), self._cache.backlog.get(uid)
        if pod is None or workload is None:
            return None
        wait = self._cache.reasons.of(workload.kind)
        if wait.reason is Reason.PENDING or pod.condition == ("False", wait.reason.value):
            return None
        return pod, _condition("False", wait.reason.value, describe(wait), now)

    async def _write(self, pod: Pod, condition: dict[str, Any]) -> None:
        # strategic: a merge patch would wipe the scheduler's conditions; the uid guards against a namesake
        body = {"metadata": {"uid": pod.uid}, "status": {"conditions": [condition]}}
        path = f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}/status"
        params = {"fieldManager": "penstock"}
        answer = await self._client.patch(path, body, content_type=STRATEGIC_PATCH, params=params)
        self._cache.put_pod(self._decode(answer))

    def _put_back(self, pod: Pod) -> None:
        workload = self._cache.backlog.get(pod.uid)
        if workload is not None:
            self._cache.reasons.mark(workload)
        elif pod.phase is not Phase.QUEUED:
            self._cache.reasons.released[pod.uid] = None


def _condition(status: str, reason: str, message: str, now: float) -> dict[str, Any]:
    return {
        "type": CONDITION,
        "status": status,
        "reason": reason,
        "message": message[:_MESSAGE_ROOM],
        "lastTransitionTime": clock.rfc3339(now),
    }


async def _attempt(metrics: ControllerMetrics, kind: str, write: Awaitable[object]) -> bool:
    """Do a side write; say whether it is over and done with. An object that is gone or there already is."""
    try:
        await write
    except (NotFound, Conflict):
        return True
    except KubeError as error:
        metrics.side_writes.labels(kind, "failed").inc()
        _log.warning("side_write_failed", kind=kind, error=str(error))
        await asyncio.sleep(1.0)
        return False
    metrics.side_writes.labels(kind, "written").inc()
    return True
