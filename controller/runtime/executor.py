"""Carry out admissions: one release patch each. The only place where the controller changes a pod's spec.

What the apiserver answers decides what the cache believes. Known success or refusal settles the assumption at once;
no answer leaves the workload charged until it is known what became of the patch (`release_doubts`), since it may still
arrive.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from controller.cache.cluster import ClusterCache
from controller.core.gate.job_growth import widening_patch
from controller.core.gate.job_release import release_job_patch
from controller.core.gate.json_patch import Operations
from controller.core.gate.object_release import ReleasedSet, release_object_patch
from controller.core.gate.release_fate import Fate, Stamps
from controller.core.gate.release_patch import Admission, release_patch
from controller.core.queueing.queues import Flavor
from controller.core.workloads.decisions import Admit, onto
from controller.core.workloads.pods import Phase, Pod
from controller.kube import clock
from controller.kube.backoff import Backoff
from controller.kube.client import Client
from controller.kube.decode_answers import AnswerDecoder
from controller.kube.errors import (
    WEBHOOK_AWAY,
    ApiError,
    Conflict,
    Invalid,
    KubeError,
    NotFound,
    ServerError,
    TooManyRequests,
)
from controller.runtime.pod_requests import patch_pod, read_pod
from controller.runtime.release_doubts import MOST_IN_NAMESPACE, DoubtLane, Sent
from controller.telemetry import logs
from controller.telemetry.metrics import ControllerMetrics, PatchResult

_log = logs.get("executor")

_BACKOFF = Backoff(first=1.0, longest=60.0)
_MESSAGE_ROOM = 500
_UNDONE = (
    "the apiserver took the release patch, and the pod is gated all the same: an admission webhook or policy of the"
    " cluster undoes releases; look for one that changes pods on UPDATE in"
    " `kubectl get mutatingwebhookconfigurations,mutatingadmissionpolicies -o yaml`, and let it leave"
    " spec.schedulingGates as they are sent"
)
_UNDONE_JOB = (
    "the apiserver took the release patch, and the Job is suspended all the same: an admission webhook or policy of the"
    " cluster undoes releases; look for one that changes Jobs on UPDATE in"
    " `kubectl get mutatingwebhookconfigurations,mutatingadmissionpolicies -o yaml`, and let it leave spec.suspend as"
    " it is sent"
)
_UNDONE_WIDENING = (
    "the apiserver took the patch that raises the Job's parallelism, and it is as it was all the same: an admission"
    " webhook or policy of the cluster undoes that; look for one that changes Jobs on UPDATE in"
    " `kubectl get mutatingwebhookconfigurations,mutatingadmissionpolicies -o yaml`, and let it leave spec.parallelism"
    " as it is sent"
)
_TOO_MANY_DOUBTS = (
    f"{MOST_IN_NAMESPACE} or more release patches of pods in namespace {{}} got no answer and may still arrive: no"
    " other pod of it is released before it is known what became of them; look for a slow admission webhook that is"
    " called for updates of pods in this namespace"
)

_Flavors = tuple[Flavor, ...]
"""Those that are open to a pod; empty: one of them is gone."""

_Decided = tuple[Admit, _Flavors]
"""An admission, and its flavors as they were decided on."""


@dataclass(frozen=True, slots=True)
class _Part:
    """What one patch releases, or a pod set of it, with its admission."""

    pod: Pod
    admit: Admit
    flavors: _Flavors


@dataclass(frozen=True, slots=True)
class Released:
    """A pod was released: as it was before, and how. `others`: admissions of other pod sets by the same patch."""

    pod: Pod
    admit: Admit
    others: tuple[Admit, ...] = ()

    @property
    def is_widening(self) -> bool:
        """Whether a Job got more pods that was admitted before."""
        return self.admit.uid != self.pod.uid


class Executor:
    """A fixed number of workers over one queue, so that order is kept and the apiserver is not flooded."""

    def __init__(
        self,
        client: Client,
        cache: ClusterCache,
        metrics: ControllerMetrics,
        *,
        decode: AnswerDecoder,
        identity: str,
        held: Callable[[], Awaitable[None]],
        on_released: Callable[[Released], None],
        on_room: Callable[[], None],
        workers: int,
    ) -> None:
        """`identity` is the leader's in the Lease: the fence lets only its stamp pass. `held` waits until we lead."""
        self._client = client
        self._cache = cache
        self._metrics = metrics
        self._decode = decode
        self._identity = identity
        self._held = held
        self._on_released = on_released
        self._on_room = on_room
        self._workers = workers
        self._queue: asyncio.Queue[tuple[float, tuple[_Decided, ...]]] = asyncio.Queue()
        self._sets: list[_Decided] = []
        """Of an object of several pod sets those that were handed over; the others follow at once."""
        self._doubts = DoubtLane(client, cache, decode=decode, identity=identity, held=held, on_end=self._known_at_last)

    def room(self) -> int:
        """How many admissions may be handed over: none until half of the last batch is done, to decide in batches."""
        waiting = self._queue.qsize()
        return 0 if waiting > self._workers else 3 * self._workers - waiting

    @property
    def waiting(self) -> int:
        """How many releases wait to be sent."""
        return self._queue.qsize()

    def submit(self, admit: Admit) -> None:
        """Queue an admission, with its flavors as they were decided on; those of one object together."""
        decided = (admit, self._flavors(admit))
        if not (admit.workload.kind.is_job and admit.workload.members):
            self._queue.put_nowait((clock.monotonic(), (decided,)))
            return
        self._sets.append(decided)
        if len(self._sets) == len(admit.workload.members):
            self._queue.put_nowait((clock.monotonic(), tuple(self._sets)))
            self._sets = []

    def _flavors(self, admit: Admit) -> _Flavors:
        """The flavors that are open to the pod, as they are now; none where one of them is gone."""
        found = [self._cache.flavors.get(name) for name in admit.flavors or (admit.flavor,)]
        return tuple(one for one in found if one is not None) if None not in found else ()

    async def run(self) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as group:
            for number in range(self._workers):
                group.create_task(self._work(), name=f"release-{number}")
            group.create_task(self._doubts.run(), name="doubts")

    async def drain(self) -> None:
        """Finish what is under way, find out what is in doubt, and give back what is not begun."""
        while not self._queue.empty():
            _, those = self._queue.get_nowait()
            for admit, _ in those:
                self._cache.settle(admit.uid)
            self._queue.task_done()
        await self._queue.join()
        await self._doubts.all_ended()

    async def _work(self) -> None:
        while True:
            began, decided = await self._queue.get()
            if self._queue.qsize() == self._workers:
                self._on_room()
            try:
                await self.release(*decided)
            finally:
                self._queue.task_done()
            self._metrics.release_seconds.observe(clock.monotonic() - began)

    async def release(self, *decided: _Decided) -> None:
        """Send the release patch of an assumed admission, or of those of one object; settle what comes of it.

        A pod, or a flavor, that is another one by now is decided again.
        """
        await self._held()
        parts = [part for one in decided if (part := self._as_decided(one)) is not None]
        if len(parts) < len(decided):
            self._settle(*(admit for admit, _ in decided))
            return
        pod = parts[0].pod
        sent, patch = self._prepare(parts)
        other = _placed_otherwise(pod, sent.admit) if sent.is_widening else ""
        if other:
            self._hold_back(sent, KubeError(other))
            return
        if self._cache.doubts.count(pod.namespace) >= MOST_IN_NAMESPACE:
            self._hold_back(sent, KubeError(_TOO_MANY_DOUBTS.format(pod.namespace)))
            return
        began = clock.monotonic()
        try:
            after = self._decode(await patch_pod(self._client, pod, patch), pod)
        except KubeError as error:
            await self._failed(sent, error)
            return
        self._metrics.patch_seconds.observe(clock.monotonic() - began)
        self._answered(sent, after)

    def _prepare(self, parts: Sequence[_Part]) -> tuple[Sent, Operations]:
        pod, admit, flavors = parts[0].pod, parts[0].admit, parts[0].flavors
        # not before it was created, by the apiserver's clock, where ours is behind that
        at = clock.rfc3339(max(clock.now(), admit.workload.since))
        run_time = self._cache.positions.run_time(pod)
        admission = Admission(admit.cluster_queue, at, self._identity, admit.preemptions, run_time)
        stamps = Stamps(
            cluster_queue=admit.cluster_queue,
            flavors=tuple(one.name for one in flavors),
            admitted_at=clock.epoch(at),
            admitted_by=self._identity,
        )
        sent = Sent(pod, admit, stamps, tuple(one.admit for one in parts[1:]))
        if pod.held_set is not None:
            sets = [ReleasedSet(one.pod, one.flavors, one.admit.domains) for one in parts]
            return sent, release_object_patch(sets, admission)
        if sent.is_widening:
            return sent, widening_patch(pod, admit.count, by=self._identity)
        if pod.is_job:
            return sent, release_job_patch(pod, flavors, admission, admit.domains, count=admit.count)
        patch = release_patch(
            pod, flavors, admission, node=admit.node, domains=admit.domains, is_pinned=admit.is_pinned
        )
        return sent, patch

    def _as_decided(self, decided: _Decided) -> _Part | None:
        """Return what is admitted by this; None where it, or a flavor, is another one by now."""
        admit, flavors = decided
        pod, kind = self._cache.pods.get(admit.uid), admit.workload.kind
        if pod is None or pod.phase is not Phase.QUEUED or not flavors or self._flavors(admit) != flavors:
            return None
        is_edited = (pod.queue or "") != kind.queue[1] or not any(pod.shape.is_like(one.shape) for one in kind.pod_sets)
        wanted = admit.count if admit.workload.members else kind.wanted
        is_edited = is_edited or (pod.is_job and pod.count != wanted)
        is_edited = is_edited or (bool(pod.of) and not self._is_assumed(admit))
        return None if is_edited else _Part(self._cache.pods[pod.of] if pod.of else pod, admit, flavors)

    def _answered(self, sent: Sent, after: Pod) -> None:
        """Believe what the answer shows: admission may put back what the patch took away, and call that a success."""
        if after.gates or (sent.is_widening and sent.fate(after) is Fate.OPEN):
            self._cache.update_pod(after)
            undone = _UNDONE_WIDENING if sent.is_widening else _UNDONE_JOB if sent.pod.is_job else _UNDONE
            self._reject(sent, KubeError(undone))
        elif sent.fate(after) is Fate.RELEASED:
            self._released(sent, after)
        else:
            self._count(PatchResult.CONFLICT)
            self._decide_again(sent, after)

    def _released(self, sent: Sent, after: Pod) -> None:
        before, admit = sent.pod, sent.admit
        self._cache.update_pod(after)
        self._settle(admit, *sent.others)
        self._count(PatchResult.RELEASED)
        if sent.is_widening:
            self._on_released(Released(before, admit))
            _log.info("job_widened", job=before.key, cluster_queue=admit.cluster_queue, pods=admit.count)
            return
        for one in (admit, *sent.others):
            self._metrics.admitted.labels(one.cluster_queue, one.flavor).inc()
        self._metrics.wait_seconds.labels(admit.cluster_queue).observe(max(0.0, clock.now() - before.created))
        self._on_released(Released(before, admit, sent.others))
        _log.info(
            "pod_released", pod=before.key, cluster_queue=admit.cluster_queue, flavor=admit.flavor, node=admit.node
        )

    async def _failed(self, sent: Sent, error: KubeError) -> None:
        match error:
            case NotFound():
                self._count(PatchResult.GONE)
                self._drop(sent)
            case Conflict() | Invalid():
                await self._refused_or_changed(sent, error)
            case ApiError() if error.status < 500 or WEBHOOK_AWAY in error.message:
                self._reject(sent, error)
            case _:
                # no worker waits for it: one namespace whose writes fail must not hold up all others
                self._count(PatchResult.UNKNOWN)
                _log.warning("release_unanswered", pod=sent.pod.key, error=str(error))
                self._doubts.add(sent, error)

    def _known_at_last(self, sent: Sent, now: Pod | None, error: KubeError) -> None:
        """Believe what ended a doubt that began with `error`."""
        if now is not None and sent.fate(now) is not Fate.RELEASED and _is_unedited(sent.pod, now):
            # it was revoked: that its namespace gives no answers is over, or is not
            self._cache.update_pod(now)
            self._hold_back(sent, error)
            return
        self._conclude(sent, now)

    async def _refused_or_changed(self, sent: Sent, error: ApiError) -> None:
        """A failed `test` and a refusal both answer 422: only a read tells an edited pod from a refused patch."""
        try:
            now = await read_pod(self._client, self._decode, sent.pod)
        except KubeError as unread:
            _log.warning("pod_unread", pod=sent.pod.key, error=str(unread))
            self._reject(sent, error)
            return
        if now is not None and _is_same(sent.pod, now):
            self._reject(sent, error)
            return
        self._count(PatchResult.CONFLICT)
        self._conclude(sent, now)

    def _conclude(self, sent: Sent, now: Pod | None) -> None:
        """Believe what was found."""
        if now is None or now.uid != sent.pod.uid:
            self._drop(sent)
        elif sent.fate(now) is Fate.RELEASED:
            self._released(sent, now)
        else:
            self._decide_again(sent, now)

    def _decide_again(self, sent: Sent, now: Pod) -> None:
        self._cache.update_pod(now)
        self._settle(sent.admit, *sent.others)

    def _drop(self, sent: Sent) -> None:
        for uid in (sent.pod.uid, *(admit.uid for admit in sent.others)):
            self._cache.drop_pod(uid)

    def _reject(self, sent: Sent, error: KubeError) -> None:
        """Give the quota back and let the pod say why; try again after a pause that doubles, up to a minute."""
        if not isinstance(error, ServerError | TooManyRequests):
            self._count(PatchResult.REJECTED)
        self._hold_back(sent, error)

    def _hold_back(self, sent: Sent, error: KubeError) -> None:
        admit, pod = sent.admit, sent.pod
        if not self._is_assumed(admit):
            return  # it is decided on anew already
        times = self._cache.reject(admit.uid, str(error)[:_MESSAGE_ROOM])
        pause = _BACKOFF.delay(times)
        if isinstance(error, TooManyRequests):
            pause = max(pause, min(error.retry_after_seconds, _BACKOFF.longest))
        self._settle(*sent.others)
        _log.warning("release_rejected", pod=pod.key, error=str(error), retry_seconds=pause)
        asyncio.get_running_loop().call_later(pause, self._cache.retry, admit.uid)

    def _settle(self, *admits: Admit) -> None:
        for admit in admits:
            if self._is_assumed(admit):
                self._cache.settle(admit.uid)

    def _is_assumed(self, admit: Admit) -> bool:
        """Whether this is what is charged. Each change of a Job ends what was sent to let it have more pods.

        These wait anew then, and by now another patch for them may be under way.
        """
        return self._cache.assumed(admit.uid) is admit

    def _count(self, result: PatchResult) -> None:
        self._metrics.patches.labels(result.value).inc()


def _placed_otherwise(job: Pod, admit: Admit) -> str:
    """Say that more pods would be charged elsewhere than what the Job has; empty: they would not."""
    now = job.cluster_queue, sorted(job.flavors or (job.flavor or "",))
    if now == (admit.cluster_queue, sorted(admit.flavors or (admit.flavor,))):
        return ""
    placed = f"ClusterQueue {job.cluster_queue} onto {onto(job.flavor, job.flavors)}"
    return (
        f"the Job was admitted by {placed}, and more of its pods would be admitted by {admit.cluster_queue} onto"
        f" {admit.onto}; set spec.suspend to true to have it admitted anew"
    )


def _is_unedited(sent: Pod, now: Pod) -> bool:
    """Whether the pod waits as it did when it was decided on."""
    return (now.uid, now.gates, now.generation) == (sent.uid, sent.gates, sent.generation)


def _is_same(sent: Pod, now: Pod) -> bool:
    """Whether every `test` of the patch built from `sent` would still pass on `now`."""
    if (sent.uid, sent.gates, sent.queue) != (now.uid, now.gates, now.queue):
        return False
    if (sent.has_annotations, sent.release_attempt) != (now.has_annotations, now.release_attempt):
        return False
    if sent.parallelism != now.parallelism:
        return False
    if sent.generation:
        return sent.generation == now.generation
    return sent.resource_version == now.resource_version
