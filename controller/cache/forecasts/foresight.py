"""What admitted pods are expected to give back when, kept while a queue backfills: else nothing of it is.

The rules are `core.forecasts.runtimes`; what a decision reads is a `core.forecasts.forecast.Forecast`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeVar

from controller.cache.forecasts.outruns import Outruns
from controller.core.forecasts.expected_ends import ExpectedEnds, Holding
from controller.core.forecasts.forecast import Forecast
from controller.core.forecasts.run_history import RunHistory
from controller.core.forecasts.runtimes import claimed, declared, expected_end, least, step_after
from controller.core.kubernetes.amounts import Requests
from controller.core.kubernetes.owners import Job
from controller.core.queueing.queues import ClusterQueue, QueueingStrategy
from controller.core.workloads.charges import Charge
from controller.core.workloads.pods import Pod
from controller.core.workloads.workload import QueueKey

_Kind = tuple[QueueKey, Requests]
_Seen = tuple[Charge, str]
"""What a pod is charged with, and the uid of its owner."""
_K = TypeVar("_K")


class Foresight:
    """The expected ends, the history that some of them rest on, and which pods one of them concerns."""

    def __init__(
        self, pods: Mapping[str, Pod], jobs: Mapping[str, Job], *, depth: int, turned: Callable[[str], None]
    ) -> None:
        """Pods and Jobs are the cache's own, and only read. `depth`: so many have a reservation at most.

        `turned` is called with a namespace whose pods are believed no more, or again: they are of other classes then.
        """
        self._outruns = Outruns(turned)
        self._pods = pods
        self._jobs = jobs
        self._now = 0.0
        self._queues: set[str] = set()
        self._forecast = Forecast(ExpectedEnds(), RunHistory(), depth, self._outruns.told)
        self._seen: dict[str, _Seen] = {}
        self._alike: dict[_Kind, dict[str, None]] = {}
        self._of_job: dict[str, dict[str, None]] = {}

    @property
    def forecast(self) -> Forecast | None:
        """What a decision reads; None where no queue backfills."""
        return self._forecast if self._queues else None

    def serves(self, name: str, queue: ClusterQueue | None) -> bool:
        """Take in whether a queue backfills; say whether every pod has to be seen again, as that begins or ends."""
        former = bool(self._queues)
        if queue is not None and queue.strategy is QueueingStrategy.BACKFILL:
            self._queues.add(name)
        else:
            self._queues.discard(name)
        if former and not self._queues:
            self._outruns.clear()
            self._forecast = replace(self._forecast, ends=ExpectedEnds(), history=RunHistory())
            for kept in (self._seen, self._alike, self._of_job):
                kept.clear()
        return former != bool(self._queues)

    def runtime(self, pod: Pod, limit: int = 0) -> int:
        """Return the seconds that a queued pod says it runs, where that matters to anybody; else 0.

        Its queue and class may `limit` them (0: not). Where its namespace is not believed, those of its own deadline
        and of the limit alone: something surely ends it by then.
        """
        if not self._queues:
            return 0
        said = pod.deadline if pod.namespace in self._outruns.told else declared(pod, self._job(pod))
        return least(said, limit)

    def advance(self, now: float) -> None:
        """Let it be this time, epoch seconds: who should have ended by now is expected to run on."""
        self._now = now
        self._forecast.ends.advance(now)
        self._outruns.advance(now)

    def observe(self, uid: str, pod: Pod | None, charge: Charge | None) -> None:
        """Take in a pod, and what it is charged with."""
        if not self._queues:
            return
        self._forget(uid)
        if pod is not None and charge is not None and charge.cluster_queue:
            owner = pod.owner.uid if pod.owner is not None else ""
            self._seen[uid] = charge, owner
            self._alike.setdefault((charge.local_queue, charge.requests), {})[uid] = None
            self._of_job.setdefault(owner, {})[uid] = None
            self._expect(pod, charge)
            return
        self._forecast.ends.drop(uid)
        self._outruns.drop(uid)
        if pod is not None and pod.has_succeeded and pod.queue is not None:
            self._learn(pod, (pod.namespace, pod.queue))

    def job_changed(self, uid: str) -> None:
        """Expect other ends of a Job's pods."""
        for one in self._of_job.get(uid, ()):
            self._expect(self._pods[one], self._seen[one][0])

    def _learn(self, pod: Pod, queue: QueueKey) -> None:
        """Take in how long a pod took, and expect that of those like it."""
        requests = pod.shape.requests
        if not pod.started or not pod.ended:
            return
        run = (pod.ended, pod.uid, max(1, pod.ended - pod.started))
        if self._forecast.history.note(queue, requests, run):
            for uid in self._alike.get((queue, requests), ()):
                self._expect(self._pods[uid], self._seen[uid][0])

    def _expect(self, pod: Pod, charge: Charge) -> None:
        job = self._job(pod)
        self._outruns.put(pod, claimed(pod, job))
        runtime = declared(pod, job) or self._forecast.history.expected(charge.local_queue, charge.requests)
        self._forecast.ends.put(
            Holding(
                at=expected_end(pod, job, runtime, self._now),
                since=pod.started or pod.admitted_at or self._now,
                uid=pod.uid,
                queue=charge.cluster_queue,
                flavors=charge.flavors,
                requests=charge.requests,
                node=charge.node,
                step=step_after(pod, runtime),
            )
        )

    def _forget(self, uid: str) -> None:
        seen = self._seen.pop(uid, None)
        if seen is not None:
            charge, owner = seen
            _take_out(self._alike, (charge.local_queue, charge.requests), uid)
            _take_out(self._of_job, owner, uid)

    def _job(self, pod: Pod) -> Job | None:
        job = self._jobs.get(pod.owner.uid) if pod.owner is not None else None
        return job if job is not None and job.namespace == pod.namespace else None


def _take_out(known: dict[_K, dict[str, None]], key: _K, uid: str) -> None:
    del known[key][uid]
    if not known[key]:
        del known[key]
