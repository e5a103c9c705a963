"""Carry out evictions: say on the pod who and why, then ask the Eviction API. The only place where we take a pod away.

Each is tried once. What is refused, or gets no answer, is let go for a while; the next decision then says whether it
is still wanted. Those of a gang are asked about before the first is sent, and after one that is refused none is sent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence

from controller.cache.cluster import ClusterCache
from controller.core.keys import EVICTION
from controller.core.workloads.decisions import Evict
from controller.core.workloads.pods import Pod
from controller.kube import clock
from controller.kube.backoff import Backoff
from controller.kube.client import Client
from controller.kube.decode_answers import AnswerDecoder
from controller.kube.errors import Conflict, KubeError, NotFound, one_line
from controller.runtime.eviction_requests import Refusal, evict, why_not_together
from controller.runtime.job_suspensions import JobSuspensions, job_of_evicted
from controller.runtime.pod_requests import write_condition
from controller.telemetry import logs
from controller.telemetry.metrics import ControllerMetrics, EvictionResult

_log = logs.get("evictions")

_WORKERS = 4
_REFUSED_BACKOFF = Backoff(first=5.0, longest=300.0)
_UNANSWERED_BACKOFF = Backoff(first=1.0, longest=300.0)
"""Sooner where there was no answer: most often an apiserver starts anew."""
_MESSAGE_ROOM = 1024
_REFUSED = "EvictionRefused"
_UNANSWERED = "EvictionUnanswered"


class EvictionLane:
    """A few workers over one queue, and one for gangs. `submit` at any time.

    What is under way is in the cache's `evictions`. Gangs go one after the other, so that each is judged by
    what budgets still allow after those before it.
    """

    def __init__(
        self,
        client: Client,
        cache: ClusterCache,
        metrics: ControllerMetrics,
        *,
        decode: AnswerDecoder,
        held: Callable[[], Awaitable[None]],
        on_evicted: Callable[[Evict], None],
        wake: Callable[[], None],
    ) -> None:
        """`held` waits until we surely lead.

        `wake` is called when one was refused, as others may go in its place, and when it may be decided on again.
        """
        self._client = client
        self._cache = cache
        self._metrics = metrics
        self._held = held
        self._on_evicted = on_evicted
        self._wake = wake
        self._queue: asyncio.Queue[Evict] = asyncio.Queue()
        self._gangs: asyncio.Queue[Sequence[Evict]] = asyncio.Queue()
        self._suspensions = JobSuspensions(client, cache, decode)

    def submit(self, evicts: Iterable[Evict]) -> None:
        """Carry out what one decision says, but for what is under way already."""
        gangs: dict[str, list[Evict]] = {}
        for one in evicts:
            if one.pod.uid in self._cache.evictions.under_way:
                continue
            self._cache.evictions.begin(one)
            job = job_of_evicted(one.pod)
            if one.together or job:
                gangs.setdefault(job or one.together, []).append(one)
            else:
                self._queue.put_nowait(one)
        for gang in gangs.values():
            self._gangs.put_nowait(gang)

    async def run(self) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as group:
            for number in range(_WORKERS):
                group.create_task(self._work(), name=f"evict-{number}")
            group.create_task(self._work_on_gangs(), name="evict-gangs")

    async def _work(self) -> None:
        while True:
            await self._evict_in_turn([await self._queue.get()])

    async def _work_on_gangs(self) -> None:
        while True:
            await self._evict_together(await self._gangs.get())

    async def _evict_together(self, gang: Sequence[Evict]) -> None:
        """Evict all of a gang, or none where one may not go."""
        going = self._still_wanted(gang)
        if going and job_of_evicted(going[0].pod):
            await self._suspend(going)
            return
        # of one alone the eviction itself says whether it may go
        refusal = await why_not_together(self._client, [one.pod for one in going]) if len(going) > 1 else None
        if refusal is None:
            await self._evict_in_turn(going)
        else:
            await self._let_stay(going, refusal)

    async def _suspend(self, going: Sequence[Evict]) -> None:
        """Suspend the Job that all of these are of: its pods go with it."""
        await self._held()
        try:
            if job := self._suspensions.job_of(going[0].pod):
                await self._tell(job, "True", going[0].cause.value, going[0].text)
                await self._suspensions.suspend(job)
        except (NotFound, Conflict):
            job = None
        except KubeError as error:
            await self._let_stay(going, Refusal.of(error, going[0].pod))
            return
        for one in going:
            self._count(one, EvictionResult.GONE if job is None else EvictionResult.EVICTED)
            if job is None:
                self._cache.evictions.forget(one.pod.uid)
            else:
                self._on_evicted(one)
        if job is not None:
            _log.info("job_suspended", job=job.key, cause=going[0].cause.value, why=going[0].text)

    async def _evict_in_turn(self, evicts: Sequence[Evict]) -> None:
        """Evict these, each once the one before it is; where one is refused after all, those behind it stay with it."""
        for number, one in enumerate(evicts):
            refusal = await self._evict(one)
            if refusal is not None:
                await self._let_stay(evicts[number:], refusal)
                return

    async def _evict(self, one: Evict) -> Refusal | None:
        """Try once, and tell the cache, the pod and its Events what came of it; return why it is refused."""
        pod = one.pod
        await self._held()
        if not self._still_wanted([one]):
            return None
        try:
            # before, not after: the kubelet, the owner and people must find the reason on a pod that goes
            await self._tell(pod, "True", one.cause.value, one.text)
            await evict(self._client, pod)
        except (NotFound, Conflict):
            # gone, or another pod of that name
            self._cache.evictions.forget(pod.uid)
            self._count(one, EvictionResult.GONE)
        except KubeError as error:
            return Refusal.of(error, pod)
        else:
            self._count(one, EvictionResult.EVICTED)
            self._on_evicted(one)
            _log.info("pod_evicted", pod=pod.key, cause=one.cause.value, why=one.text)
        return None

    def _still_wanted(self, evicts: Sequence[Evict]) -> list[Evict]:
        """Return those whose pods did not go by themselves."""
        return [one for one in evicts if one.pod.uid in self._cache.evictions.under_way]

    async def _let_stay(self, evicts: Sequence[Evict], refusal: Refusal) -> None:
        """Let those stay for a while that did not go by themselves."""
        staying = self._still_wanted(evicts)
        times = self._cache.evictions.postpone([one.pod.uid for one in staying]) if refusal.is_unanswered else None
        if times is None:
            await self._refused(staying, refusal)
        else:
            await self._postponed(staying, refusal, _UNANSWERED_BACKOFF.delay(times))

    async def _refused(self, staying: Sequence[Evict], refusal: Refusal) -> None:
        """Most often by a PodDisruptionBudget (429): let them go for a while that doubles, up to five minutes."""
        # all of them before anything is awaited: the next decision must not find half a gang on its way
        for one in staying:
            text = refusal.told(one.pod)
            times = self._cache.evictions.refuse(one.pod.uid, text)
            pause = _REFUSED_BACKOFF.delay(times)
            asyncio.get_running_loop().call_later(pause, self._retry, [one.pod.uid])
            self._count(one, EvictionResult.REFUSED)
            _log.warning("eviction_refused", pod=one.pod.key, error=text, retry_seconds=pause)
        self._wake()
        for one in staying:
            await self._tell_staying(one, _REFUSED, f"refused for now: {refusal.told(one.pod)}")

    async def _postponed(self, staying: Sequence[Evict], refusal: Refusal, pause: float) -> None:
        """Try them later, all at once, of which nobody said that they may not be."""
        for one in staying:
            self._count(one, EvictionResult.UNANSWERED)
            _log.warning("eviction_unanswered", pod=one.pod.key, error=refusal.text, retry_seconds=pause)
        for one in staying:
            # it may not be wanted any more then
            await self._tell_staying(one, _UNANSWERED, f"no answer yet: {refusal.text}")
        # after that: on an apiserver that is slow this must not follow what is told when it is tried again
        asyncio.get_running_loop().call_later(pause, self._retry, [one.pod.uid for one in staying])

    async def _tell_staying(self, one: Evict, reason: str, why: str) -> None:
        try:
            await self._tell(one.pod, "False", reason, f"{one.text}; {why}")
        except KubeError as untold:
            _log.warning("eviction_untold", pod=one.pod.key, error=one_line(untold))

    def _retry(self, uids: Iterable[str]) -> None:
        for uid in uids:
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
        await write_condition(self._client, pod, condition)

    def _count(self, evict: Evict, result: EvictionResult) -> None:
        charge = self._cache.usage.charge_of(evict.pod.uid)
        queue = charge.cluster_queue if charge is not None else evict.pod.cluster_queue or ""
        self._metrics.evictions.labels(queue, evict.cause.value, result.value, evict.beneficiary).inc()
