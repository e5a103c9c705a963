"""Owners of pods in a simulation: they create a pod again that is gone, and Jobs the next one when one succeeds.

The pod that comes again is the one that is gone, with another uid. Of one that was admitted before the simulation
began, the template is not known: it asks for what a queued pod of the same owner asks for, where there was one, and
else keeps what its flavor added to it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from controller.cache.cluster import ClusterCache
from controller.core.kubernetes.owners import Job
from controller.core.workloads.pods import Phase, Pod, job_of
from controller.core.workloads.shapes import Shape
from controller.simulator.pod_states import created_again


class Owners:
    """What owners do, with the cache's Jobs; the pods that they create are returned, not put anywhere."""

    def __init__(self, cache: ClusterCache) -> None:
        self._cache = cache
        self._templates: dict[str, Shape] = {}
        self._live: Counter[str] = Counter()
        self._next_index: dict[str, int] = {}
        self._created = 0

    def take_in(self, pods: Iterable[Pod]) -> None:
        """Take in pods that there are from now on."""
        for pod in pods:
            if pod.owner is None or pod.is_finished or pod.of:
                continue
            uid = pod.owner.uid
            self._live[uid] += 1
            self._next_index[uid] = max(self._next_index.get(uid, 0), pod.completion_index + 1)
            if pod.phase is Phase.QUEUED:
                self._templates[uid] = pod.shape

    def succeeded(self, pod: Pod, now: float) -> Pod | None:
        """Count a success in; return the pod that its Job creates next, None where it creates none.

        What a Job got in addition ends with no successor: what comes next is all that the Job keeps alive.
        """
        if pod.owner is None:
            return None
        if pod.of:
            self._count_success(pod)
            return None
        self._live[pod.owner.uid] -= 1
        job = self._count_success(pod)
        if job is None:
            return None
        if pod.is_job:
            return self._create(replace(pod, count=job.width), now) if job.completions and job.width else None
        if job.completions is None or self._live[job.uid] >= job.width:
            return None
        index = self._next_index[job.uid]
        name = f"{job.name}-simulated-{self._created + 1}"
        return self._create(replace(pod, name=name, completion_index=index if index > 1 else 0), now)

    def _count_success(self, pod: Pod) -> Job | None:
        job = job_of(pod, self._cache.jobs)
        if job is None:
            return None
        job = replace(job, succeeded=job.succeeded + pod.count)
        self._cache.set_job(job.uid, job)
        return job

    def lost(self, pod: Pod, now: float) -> Pod | None:
        """Return the pod that an owner creates for one that was evicted, or whose node is gone; None: it has none."""
        if pod.owner is None or pod.of:
            return None
        self._live[pod.owner.uid] -= 1
        job = job_of(pod, self._cache.jobs)
        if job is not None and not job.ignores_disruption:
            self._cache.set_job(job.uid, replace(job, failed=job.failed + 1))
        return self._create(pod, now)

    def _create(self, pod: Pod, now: float) -> Pod:
        self._created += 1
        owner = "" if pod.owner is None else pod.owner.uid
        shape = self._templates.get(owner, pod.shape)
        new = created_again(pod, f"simulated-{self._created}", shape, now)
        self.take_in((new,))
        return new
