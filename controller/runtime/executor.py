"""Carry out admissions: one release patch each. The only place that changes a pod's spec.

What the apiserver answers decides what the cache believes. Known success or refusal settles the assumption at once;
no answer leaves the workload reserved until a read says what became of it, because the patch may still arrive.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from controller.cache.cluster import ClusterCache
from controller.core.decisions import Admit
from controller.core.pods import Phase, Pod
from controller.core.reasons import Reason
from controller.core.release_patch import release_patch
from controller.core.workloads import Hold
from controller.kube import clock
from controller.kube.client import JSON_PATCH, Client
from controller.kube.decode import PodDecoder
from controller.kube.errors import (
    ApiError,
    Conflict,
    Invalid,
    KubeError,
    NotFound,
    ServerError,
    TooManyRequests,
    Unreachable,
)
from controller.telemetry import logs
from controller.telemetry.metrics import ControllerMetrics, PatchResult

_log = logs.get("executor")

_SERVER_SECONDS = 10
"""The apiserver gives a patch up after this long (`?timeout=`)."""
ANSWER_SECONDS = 12.0
"""We stop waiting for its answer a little later; after that it can no longer take effect."""
_FIRST_PAUSE = 1.0
_LONGEST_PAUSE = 60.0
_MESSAGE_ROOM = 500


@dataclass(frozen=True, slots=True)
class Released:
    """A pod was released: as it was before, and how."""

    pod: Pod
    admit: Admit


class Executor:
    """A fixed number of workers over one queue, so that order is kept and the apiserver is not flooded."""

    def __init__(
        self,
        client: Client,
        cache: ClusterCache,
        metrics: ControllerMetrics,
        *,
        decode: PodDecoder,
        on_released: Callable[[Released], None],
        on_room: Callable[[], None],
        workers: int,
    ) -> None:
        self._client = client
        self._cache = cache
        self._metrics = metrics
        self._decode = decode
        self._on_released = on_released
        self._on_room = on_room
        self._workers = workers
        self._queue: asyncio.Queue[Admit] = asyncio.Queue()
        self._failures: dict[str, int] = {}

    def room(self) -> int:
        """How many admissions may be handed over: none until half of the last batch is done, to decide in batches."""
        waiting = self._queue.qsize()
        return 0 if waiting > self._workers else 3 * self._workers - waiting

    def submit(self, admit: Admit) -> None:
        """Queue an admission."""
        self._queue.put_nowait(admit)

    async def run(self) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as group:
            for number in range(self._workers):
                group.create_task(self._work(), name=f"release-{number}")

    async def drain(self) -> None:
        """Finish what is under way and give back what is not begun."""
        while not self._queue.empty():
            self._cache.settle(self._queue.get_nowait().workload.uid)
            self._queue.task_done()
        await self._queue.join()

    async def _work(self) -> None:
        while True:
            admit = await self._queue.get()
            if self._queue.qsize() == self._workers:
                self._on_room()
            try:
                await self.release(admit)
            finally:
                self._queue.task_done()

    async def release(self, admit: Admit) -> None:
        """Send the release patch of an assumed admission, and settle it by what comes of it."""
        uid = admit.workload.uid
        pod = self._cache.pods.get(uid)
        flavor = self._cache.flavors.get(admit.flavor)
        kind = admit.workload.kind
        is_as_decided = pod is not None and (pod.shape, pod.queue or "") == (kind.shape, kind.queue[1])
        if pod is None or flavor is None or pod.phase is not Phase.QUEUED or not is_as_decided:
            self._cache.settle(uid)
            return
        stamp = clock.rfc3339(clock.now())
        patch = release_patch(pod, flavor, cluster_queue=admit.cluster_queue, node=admit.node, admitted_at=stamp)
        began = clock.monotonic()
        try:
            body = await self._client.patch(
                _path(pod),
                patch,
                content_type=JSON_PATCH,
                params={"timeout": f"{_SERVER_SECONDS}s", "fieldManager": "penstock"},
                seconds=ANSWER_SECONDS,
            )
        except KubeError as error:
            await self._failed(pod, admit, error, began)
            return
        self._metrics.patch_seconds.observe(clock.monotonic() - began)
        self._released(pod, admit, self._decode(body))

    def _released(self, before: Pod, admit: Admit, after: Pod) -> None:
        self._cache.put_pod(after)
        self._cache.settle(before.uid)
        self._failures.pop(before.uid, None)
        self._count(PatchResult.RELEASED)
        self._metrics.admitted.labels(admit.cluster_queue, admit.flavor).inc()
        self._metrics.wait_seconds.labels(admit.cluster_queue).observe(max(0.0, clock.now() - before.created))
        self._on_released(Released(before, admit))
        _log.info(
            "pod_released", pod=before.key, cluster_queue=admit.cluster_queue, flavor=admit.flavor, node=admit.node
        )

    async def _failed(self, pod: Pod, admit: Admit, error: KubeError, began: float) -> None:
        match error:
            case NotFound():
                self._count(PatchResult.GONE)
                self._cache.drop_pod(pod.uid)
            case TooManyRequests():
                await asyncio.sleep(min(error.retry_after_seconds or _FIRST_PAUSE, _LONGEST_PAUSE))
                self._cache.settle(pod.uid)
            case Unreachable() | ServerError():
                self._count(PatchResult.UNKNOWN)
                _log.warning("release_unanswered", pod=pod.key, error=str(error))
                await self._find_out(pod, admit, deadline=began + ANSWER_SECONDS)
            case Conflict() | Invalid():
                await self._refused_or_changed(pod, admit, error)
            case _:
                self._reject(pod, error)

    async def _find_out(self, pod: Pod, admit: Admit, *, deadline: float) -> None:
        """Read until the pod says what became of the patch; "still gated" counts only once it can arrive no more."""
        pause = 0.1
        while True:
            is_over = clock.monotonic() >= deadline
            now = await self._read(pod)
            if now is not None and (now.uid != pod.uid or now.phase is not Phase.QUEUED or is_over):
                self._conclude(pod, admit, now)
                return
            await asyncio.sleep(pause)
            pause = min(pause * 2, 5.0)

    async def _refused_or_changed(self, pod: Pod, admit: Admit, error: ApiError) -> None:
        """A failed `test` and a refusal both answer 422: only a read tells an edited pod from a refused patch."""
        now = await self._read(pod)
        if now is None or _is_same(pod, now):
            self._reject(pod, error)
            return
        self._count(PatchResult.CONFLICT)
        self._conclude(pod, admit, now)

    def _conclude(self, before: Pod, admit: Admit, now: Pod) -> None:
        """Believe what a read found."""
        if now.uid != before.uid:
            self._cache.drop_pod(before.uid)
        elif now.cluster_queue == admit.cluster_queue and now.flavor == admit.flavor and not now.gates:
            self._released(before, admit, now)
        else:
            self._cache.put_pod(now)
            self._cache.settle(before.uid)

    async def _read(self, pod: Pod) -> Pod | None:
        """Return the pod as it is now, a placeholder of another uid when it is gone, None when nothing answers."""
        try:
            return self._decode(await self._client.get(_path(pod)))
        except NotFound:
            return Pod(uid="", namespace=pod.namespace, name=pod.name, shape=pod.shape)
        except KubeError as error:
            _log.warning("pod_unread", pod=pod.key, error=str(error))
            return None

    def _reject(self, pod: Pod, error: KubeError) -> None:
        """Give the quota back and let the pod say why; try again after a pause that doubles."""
        self._count(PatchResult.REJECTED)
        failures = self._failures.get(pod.uid, 0)
        self._failures[pod.uid] = failures + 1
        pause = min(_FIRST_PAUSE * 2**failures, _LONGEST_PAUSE)
        _log.warning("release_rejected", pod=pod.key, error=str(error), retry_seconds=pause)
        self._cache.settle(pod.uid, rejected=Hold(Reason.PATCH_REJECTED, str(error)[:_MESSAGE_ROOM]))
        asyncio.get_running_loop().call_later(pause, self._cache.retry, pod.uid)

    def _count(self, result: PatchResult) -> None:
        self._metrics.patches.labels(result.value).inc()


def _path(pod: Pod) -> str:
    return f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}"


def _is_same(sent: Pod, now: Pod) -> bool:
    """Whether every `test` of the patch built from `sent` would still pass on `now`."""
    return (sent.uid, sent.gates, sent.has_annotations) == (now.uid, now.gates, now.has_annotations) and (
        sent.generation == now.generation if sent.generation else sent.resource_version == now.resource_version
    )
