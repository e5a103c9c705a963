"""Carry out admissions: one release patch each. The only place where the controller changes a pod's spec.

What the apiserver answers decides what the cache believes. Known success or refusal settles the assumption at once;
no answer leaves the workload reserved until a read or the watch says what became of it, because the patch may still
arrive.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace

from controller.cache.cluster import ClusterCache
from controller.core.gate.release_patch import Admission, release_patch
from controller.core.queueing.queues import Flavor
from controller.core.workloads.decisions import Admit
from controller.core.workloads.pods import Phase, Pod
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
)
from controller.telemetry import logs
from controller.telemetry.metrics import ControllerMetrics, PatchResult

_log = logs.get("executor")

_SERVER_SECONDS = 5
"""The apiserver gives a patch up after this long (`?timeout=`)."""
ANSWER_SECONDS = 6.0
"""We stop waiting for its answer a little later; after that it can no longer take effect."""
_FIRST_PAUSE = 1.0
_LONGEST_PAUSE = 60.0
_DOUBLINGS = 6
_RESOLVERS = 4
_FIRST_READ_PAUSE = 1.0
_LONGEST_READ_PAUSE = ANSWER_SECONDS
"""Longer would keep those waiting that come into doubt meanwhile: theirs is over as soon as that."""
_MESSAGE_ROOM = 500
_UNDONE = (
    "the apiserver took the release patch, and the pod is gated all the same: an admission webhook or policy of the"
    " cluster undoes releases; look for one that changes pods on UPDATE in"
    " `kubectl get mutatingwebhookconfigurations,mutatingadmissionpolicies -o yaml`, and let it leave"
    " spec.schedulingGates as they are sent"
)


_Flavors = tuple[Flavor, ...]
"""Those that are open to a pod; empty: one of them is gone."""


@dataclass(frozen=True, slots=True)
class Released:
    """A pod was released: as it was before, and how."""

    pod: Pod
    admit: Admit


@dataclass(frozen=True, slots=True)
class _Doubt:
    """A patch that got no answer: what it was for, why, and from when (monotonic) it can take effect no more.

    Where a read fails, the next follows `pause` seconds after it, at `over_at`.
    """

    pod: Pod
    admit: Admit
    error: KubeError
    over_at: float
    pause: float = _FIRST_READ_PAUSE

    def put_off(self) -> _Doubt:
        """Return the doubt as it is after a read that failed."""
        later = clock.monotonic() + self.pause
        return replace(self, over_at=later, pause=min(2 * self.pause, _LONGEST_READ_PAUSE))


class Executor:
    """A fixed number of workers over one queue, so that order is kept and the apiserver is not flooded."""

    def __init__(
        self,
        client: Client,
        cache: ClusterCache,
        metrics: ControllerMetrics,
        *,
        decode: PodDecoder,
        identity: str,
        on_released: Callable[[Released], None],
        on_room: Callable[[], None],
        workers: int,
    ) -> None:
        """`identity` is the leader's in the Lease: where admission policies fence, only its stamp passes."""
        self._client = client
        self._cache = cache
        self._metrics = metrics
        self._decode = decode
        self._identity = identity
        self._on_released = on_released
        self._on_room = on_room
        self._workers = workers
        self._queue: asyncio.Queue[tuple[Admit, _Flavors]] = asyncio.Queue()
        self._doubts: asyncio.Queue[_Doubt] = asyncio.Queue()

    def room(self) -> int:
        """How many admissions may be handed over: none until half of the last batch is done, to decide in batches."""
        waiting = self._queue.qsize()
        return 0 if waiting > self._workers else 3 * self._workers - waiting

    def submit(self, admit: Admit) -> None:
        """Queue an admission, with its flavors as they were decided on."""
        self._queue.put_nowait((admit, self._flavors(admit)))

    def _flavors(self, admit: Admit) -> _Flavors:
        """The flavors that are open to the pod, as they are now; none where one of them is gone."""
        found = [self._cache.flavors.get(name) for name in admit.flavors or (admit.flavor,)]
        return tuple(one for one in found if one is not None) if None not in found else ()

    async def run(self) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as group:
            for number in range(self._workers):
                group.create_task(self._work(), name=f"release-{number}")
            for number in range(_RESOLVERS):
                group.create_task(self._find_out(), name=f"doubts-{number}")

    async def drain(self) -> None:
        """Finish what is under way, find out what is in doubt, and give back what is not begun."""
        while not self._queue.empty():
            self._cache.settle(self._queue.get_nowait()[0].uid)
            self._queue.task_done()
        await self._queue.join()
        await self._doubts.join()

    async def _work(self) -> None:
        while True:
            admit, flavors = await self._queue.get()
            if self._queue.qsize() == self._workers:
                self._on_room()
            try:
                await self.release(admit, flavors)
            finally:
                self._queue.task_done()

    async def release(self, admit: Admit, flavors: _Flavors) -> None:
        """Send the release patch of an assumed admission onto `flavors` as decided on; settle what comes of it.

        A pod, or a flavor, that is another one by now is decided again.
        """
        uid = admit.uid
        pod = self._cache.pods.get(uid)
        if pod is None or pod.phase is not Phase.QUEUED or not flavors or self._is_outdated(pod, admit, flavors):
            self._cache.settle(uid)
            return
        at = clock.rfc3339(clock.now())
        admission = Admission(admit.cluster_queue, at=at, by=self._identity, preemptions=admit.preemptions)
        patch = release_patch(
            pod, flavors, admission, node=admit.node, domains=admit.domains, is_pinned=admit.is_pinned
        )
        began = clock.monotonic()
        try:
            body = await self._client.patch(
                _path(pod),
                patch,
                content_type=JSON_PATCH,
                params={"timeout": f"{_SERVER_SECONDS}s", "fieldManager": "penstock"},
                seconds=ANSWER_SECONDS,
            )
            after = self._decode(body)
        except KubeError as error:
            await self._failed(pod, admit, error, over_at=began + ANSWER_SECONDS)
            return
        self._metrics.patch_seconds.observe(clock.monotonic() - began)
        self._answered(pod, admit, after)

    def _is_outdated(self, pod: Pod, admit: Admit, flavors: _Flavors) -> bool:
        kind = admit.workload.kind
        is_edited = (pod.queue or "") != kind.queue[1] or not any(pod.shape.is_like(one.shape) for one in kind.pod_sets)
        return is_edited or self._flavors(admit) != flavors

    def _answered(self, before: Pod, admit: Admit, after: Pod) -> None:
        """Believe what the answer shows: admission may put back what the patch took away, and call that a success."""
        if after.gates:
            self._cache.update_pod(after)
            self._reject(before, KubeError(_UNDONE))
            return
        if not _carries(after, admit):
            self._count(PatchResult.CONFLICT)
        self._conclude(before, admit, after)

    def _released(self, before: Pod, admit: Admit, after: Pod) -> None:
        self._cache.update_pod(after)
        self._cache.settle(before.uid)
        self._count(PatchResult.RELEASED)
        self._metrics.admitted.labels(admit.cluster_queue, admit.flavor).inc()
        self._metrics.wait_seconds.labels(admit.cluster_queue).observe(max(0.0, clock.now() - before.created))
        self._on_released(Released(before, admit))
        _log.info(
            "pod_released", pod=before.key, cluster_queue=admit.cluster_queue, flavor=admit.flavor, node=admit.node
        )

    async def _failed(self, pod: Pod, admit: Admit, error: KubeError, *, over_at: float) -> None:
        match error:
            case NotFound():
                self._count(PatchResult.GONE)
                self._cache.drop_pod(pod.uid)
            case Conflict() | Invalid():
                await self._refused_or_changed(pod, admit, error)
            case ApiError() if error.status < 500:
                self._reject(pod, error)
            case _:
                # no worker waits for it: one namespace whose writes fail must not hold up all others
                self._count(PatchResult.UNKNOWN)
                _log.warning("release_unanswered", pod=pod.key, error=str(error))
                self._doubts.put_nowait(_Doubt(pod, admit, error, over_at))

    async def _find_out(self) -> None:
        """Read what became of patches without an answer, each when it can take effect no more."""
        while True:
            doubt = await self._doubts.get()
            try:
                await asyncio.sleep(max(0.0, doubt.over_at - clock.monotonic()))
                await self._resolve(doubt)
            finally:
                self._doubts.task_done()

    async def _resolve(self, doubt: _Doubt) -> None:
        """End a doubt by what the watch shows, or else a read; where that fails others have their turn first."""
        known = self._cache.pods.get(doubt.pod.uid)
        if known is None or self._cache.assumed(known.uid) is None:
            return
        # Gated and edited: that was before our patch, whose tests failed then. Without a version it is from before the
        # apiserver's history began anew, which says nothing of now.
        if known.resource_version and not _is_same(doubt.pod, known):
            self._conclude(doubt.pod, doubt.admit, known)
            return
        now = await self._read(doubt.pod)
        if now is None:
            self._doubts.put_nowait(doubt.put_off())
        elif _is_same(doubt.pod, now):
            self._reject(doubt.pod, doubt.error)
        else:
            self._conclude(doubt.pod, doubt.admit, now)

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
        elif _carries(now, admit) and not now.gates:
            self._released(before, admit, now)
        else:
            self._cache.update_pod(now)
            self._cache.settle(before.uid)

    async def _read(self, pod: Pod) -> Pod | None:
        """Return the pod as it is now, a placeholder of another uid when it is gone, None when nothing answers."""
        try:
            return self._decode(await self._client.get(_path(pod), seconds=ANSWER_SECONDS))
        except NotFound:
            return Pod(uid="", namespace=pod.namespace, name=pod.name, shape=pod.shape)
        except KubeError as error:
            _log.warning("pod_unread", pod=pod.key, error=str(error))
            return None

    def _reject(self, pod: Pod, error: KubeError) -> None:
        """Give the quota back and let the pod say why; try again after a pause that doubles, up to a minute."""
        if not isinstance(error, ServerError | TooManyRequests):
            self._count(PatchResult.REJECTED)
        times = self._cache.reject(pod.uid, str(error)[:_MESSAGE_ROOM])
        pause = min(_FIRST_PAUSE * 2 ** min(times - 1, _DOUBLINGS), _LONGEST_PAUSE)
        if isinstance(error, TooManyRequests):
            pause = max(pause, min(error.retry_after_seconds, _LONGEST_PAUSE))
        _log.warning("release_rejected", pod=pod.key, error=str(error), retry_seconds=pause)
        asyncio.get_running_loop().call_later(pause, self._cache.retry, pod.uid)

    def _count(self, result: PatchResult) -> None:
        self._metrics.patches.labels(result.value).inc()


def _path(pod: Pod) -> str:
    return f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}"


def _carries(now: Pod, admit: Admit) -> bool:
    """Whether the pod has the stamps of this admission."""
    stamped = now.flavors == admit.flavors if admit.flavors else now.flavor == admit.flavor
    return stamped and now.cluster_queue == admit.cluster_queue


def _is_same(sent: Pod, now: Pod) -> bool:
    """Whether every `test` of the patch built from `sent` would still pass on `now`."""
    if (sent.uid, sent.gates, sent.queue) != (now.uid, now.gates, now.queue):
        return False
    if not sent.has_annotations and now.has_annotations:
        return False
    if sent.generation:
        return sent.generation == now.generation
    return sent.resource_version == now.resource_version
