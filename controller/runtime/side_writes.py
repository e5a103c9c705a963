"""The condition that says why a pod waits, written beside the release patch.

It is best effort and slow on purpose: a long queue must not flood the apiserver, and releases come first.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from controller.cache.cluster import ClusterCache
from controller.cache.queue.reasons import RESERVED
from controller.core.eviction_rules.reservations import overdue_text
from controller.core.explaining.wording import deadline_note, describe, size_note
from controller.core.keys import CONDITION
from controller.core.reasons import Reason
from controller.core.workloads.decisions import Wait, onto
from controller.core.workloads.elastic_jobs import IN_PART, uid_of_more
from controller.core.workloads.held_sets import is_first
from controller.core.workloads.pods import Phase, Pod, PublishedCondition, job_of
from controller.core.workloads.workload import Workload
from controller.kube import clock
from controller.kube.client import Client
from controller.kube.decode_answers import AnswerDecoder
from controller.runtime.best_effort import attempt
from controller.runtime.pod_requests import write_condition
from controller.telemetry.metrics import ControllerMetrics

_CONDITION_WRITERS = 8
_SHARE = 5
"""Each writer writes for one part of its time in so many."""
_LEAST_PAUSE = 0.08
"""After each condition, so that there are no more than a hundred a second however fast the apiserver is."""
_IDLE_SECONDS = 0.05
_VISITED = 100
"""So many pods are looked at in a row to find the next one to write: most of a long queue say all there is to say."""
_TRIES = 3
_TRY_AGAIN_SECONDS = 30.0
_MESSAGE_ROOM = 1024


class ConditionLane:
    """Writes `penstock.dev/Admissible`: released pods first, then those that say nothing yet, then what is outdated.

    Several are written at a time, none while releases wait. Each writer rests four times as long as its write took: so
    conditions take a fifth of what the apiserver gives so many writers, and less where it takes longer.
    A pod whose condition cannot be written is left alone for a while and then given up: it must not silence others.
    """

    def __init__(
        self,
        client: Client,
        cache: ClusterCache,
        metrics: ControllerMetrics,
        *,
        decode: AnswerDecoder,
        releases_wait: Callable[[], bool],
        on_wait: Callable[[Pod, str, str], None],
    ) -> None:
        """`on_wait` is told of each pod that has begun to wait, or for another reason: reason and message."""
        self._client = client
        self._cache = cache
        self._metrics = metrics
        self._decode = decode
        self._releases_wait = releases_wait
        self._on_wait = on_wait
        self._failures: dict[str, int] = {}
        self._under_way: dict[str, bool] = {}
        """Pods whose condition is being written, and whether they became due once more meanwhile."""

    async def run(self) -> None:
        """Write until cancelled."""
        async with asyncio.TaskGroup() as group:
            for number in range(_CONDITION_WRITERS):
                group.create_task(self._work(), name=f"conditions-{number}")

    async def _work(self) -> None:
        while True:
            due = None if self._releases_wait() else self._next(clock.now())
            if due is None:
                await asyncio.sleep(_IDLE_SECONDS)
                continue
            began = clock.monotonic()
            await self._tell(*due)
            took = clock.monotonic() - began
            await asyncio.sleep(max((_SHARE - 1) * took, _LEAST_PAUSE))

    async def _tell(self, pod: Pod, condition: dict[str, Any]) -> None:
        self._under_way[pod.uid] = False
        try:
            is_over = await attempt(self._metrics, "condition", self._write(pod, condition))
        finally:
            is_due_again = self._under_way.pop(pod.uid)
        if not is_over:
            self._try_later(pod.uid)
            return
        self._failures.pop(pod.uid, None)
        if is_due_again:
            self._put_back(pod.uid)

    def _next(self, now: float) -> tuple[Pod, dict[str, Any]] | None:
        self._cache.mark_on()
        for _ in range(_VISITED):
            uid = self._cache.reasons.next(now)
            if uid is None:
                return None
            pod = self._cache.pods.get(uid)
            writes_on = uid if pod is None else pod.of or uid
            if writes_on in self._under_way:
                self._under_way[writes_on] = True
                continue
            due = self._waiting(uid, now) or self._of_released(uid, now)
            if due is not None:
                return due
        return None

    def _of_released(self, uid: str, now: float) -> tuple[Pod, dict[str, Any]] | None:
        pod = self._cache.pods.get(uid)
        if pod is None or not pod.is_admitted or pod.is_terminating or not is_first(pod):
            return None
        is_overdue = uid in self._cache.clocks.reservations.overdue
        if not self._cache.reasons.is_outdated(pod, is_overdue=is_overdue):
            return None
        return pod, self._released(pod, now)

    def _waiting(self, uid: str, now: float) -> tuple[Pod, dict[str, Any]] | None:
        pod, workload = self._cache.pods.get(uid), self._cache.backlog.of_pod(uid)
        if pod is None or workload is None or not is_first(pod):
            return None
        wait = self._cache.reasons.of(workload.kind).of(workload.uid)
        if pod.of:
            return self._of_more(pod, workload, wait, now)
        note = f"{size_note(pod, None) if wait.blockers else ''}{deadline_note(job_of(pod, self._cache.jobs))}"
        if wait.reason is Reason.PENDING or _says(pod.said, wait, note):
            return None
        message = self._described(workload, wait)
        return pod, _condition(pod.said, "False", wait.reason.value, f"{message}{note}"[:_MESSAGE_ROOM], now)

    def _described(self, workload: Workload, wait: Wait) -> str:
        local = self._cache.local_queues.get(workload.kind.queue)
        queue = None if local is None else self._cache.queues.current.get(local.cluster_queue)
        may_preempt = queue is not None and queue.preemption.is_any
        return describe(wait, workload.since, may_preempt=may_preempt, figures=False)

    def _of_more(self, more: Pod, workload: Workload, wait: Wait, now: float) -> tuple[Pod, dict[str, Any]] | None:
        """Say of an admitted Job that more of its pods wait, and why; on the Job, as one that is admitted."""
        job = self._cache.pods.get(more.of)
        if job is None or wait.reason is Reason.PENDING:
            return None
        text = f"{_placed(job)} with {job.count} of {job.count + more.count} pods; {more.count} more"
        message = f"{text} wait ({wait.reason}): {self._described(workload, wait)}"[:_MESSAGE_ROOM]
        if job.said is not None and (job.said.reason, job.said.message_hash) == (IN_PART, hash(message)):
            return None
        return job, _condition(job.said, "True", IN_PART, message, now)

    def _released(self, pod: Pod, now: float) -> dict[str, Any]:
        queue = self._cache.queues.current.get(pod.cluster_queue or "")
        if queue is not None and pod.uid in self._cache.clocks.reservations.overdue:
            text = overdue_text(pod, queue)[:_MESSAGE_ROOM]
            return _condition(pod.said, "True", RESERVED, text[0].upper() + text[1:], now)
        return _released(pod, now)

    async def _write(self, pod: Pod, condition: dict[str, Any]) -> None:
        answer = await write_condition(self._client, pod, condition)
        self._cache.update_pod(self._decode(answer, pod))
        is_told = condition["status"] == "False" or condition["reason"] == IN_PART
        if is_told and (pod.said is None or pod.said.reason != condition["reason"]):
            self._on_wait(pod, condition["reason"], condition["message"])

    def _try_later(self, uid: str) -> None:
        failures = self._failures.get(uid, 0) + 1
        if failures >= _TRIES:
            self._failures.pop(uid, None)
            return
        self._failures[uid] = failures
        asyncio.get_running_loop().call_later(_TRY_AGAIN_SECONDS * failures, self._put_back, uid)

    def _put_back(self, uid: str) -> None:
        pod, workload = self._cache.pods.get(uid), self._cache.backlog.of_pod(uid)
        if pod is None:
            self._failures.pop(uid, None)
        elif workload is not None:
            self._cache.reasons.mark(uid, kind=workload.kind, created=pod.created, said=pod.said)
        elif pod.phase in (Phase.RESERVED, Phase.RUNNING):
            self._cache.reasons.released[uid] = None
            if pod.more:
                self._put_back(uid_of_more(uid))


def _says(said: PublishedCondition | None, wait: Wait, note: str) -> bool:
    """Whether the condition on the pod will do: the same reason and, where that is not arithmetic, the same words."""
    if said is None or (said.status, said.reason) != ("False", wait.reason.value):
        return False
    return bool(wait.blockers) or said.message_hash == hash(f"{wait.text}{note}"[:_MESSAGE_ROOM])


def _released(pod: Pod, now: float) -> dict[str, Any]:
    if pod.cluster_queue and pod.flavor:
        return _condition(pod.said, "True", "Admitted", _placed(pod), now)
    what = "Job was unsuspended" if pod.is_job else "scheduling gate was removed"
    text = f"The {what} by somebody else"
    return _condition(pod.said, "True", "ReleasedOutsidePenstock", text, now)


def _placed(pod: Pod) -> str:
    return f"Admitted by ClusterQueue {pod.cluster_queue} onto {onto(pod.flavor, pod.flavors)}"


def _condition(said: PublishedCondition | None, status: str, reason: str, message: str, now: float) -> dict[str, Any]:
    """Build the condition; the time of transition stays as it is on the pod while the status stays."""
    time = clock.rfc3339(now)
    condition = {"type": CONDITION, "status": status, "reason": reason, "message": message, "lastProbeTime": time}
    return condition if said is not None and said.status == status else {**condition, "lastTransitionTime": time}
