"""May a pod be returned to its owner: is another one made in its place, and at no cost?

Evicting a pod throws away what it has done so far; who drains a queue accepts that. The cost meant here is the owner's:
a pod that nobody makes again, or a Job that comes nearer to failing. Every eviction of ours asks this first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Protocol

from controller.core.evictions.leaving import Leaving
from controller.core.kubernetes.owners import Job, Owner
from controller.core.queueing.queues import ClusterQueue
from controller.core.workloads.pods import Pod

_REMAKING = frozenset({("apps", "ReplicaSet"), ("apps", "StatefulSet"), ("", "ReplicationController")})
"""(API group, kind) of owners that make a pod anew for as long as they have too few of them."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a pod may be returned, and why, as a clause that names no object."""

    may_return: bool
    why: str


class RunningPods(Protocol):
    """Pods and Jobs by uid, and which of the pods go: `snapshot.RunningView` without the rest."""

    @property
    def pods(self) -> Mapping[str, Pod]: ...  # noqa: D102

    @property
    def jobs(self) -> Mapping[str, Job]: ...  # noqa: D102

    @property
    def leaving(self) -> Leaving: ...  # noqa: D102


class Returns:
    """Verdicts on the pods of one world. What is taken counts against its Job's retries, like what is going already."""

    def __init__(
        self, queues: Mapping[str, ClusterQueue], charged: Mapping[str, Collection[str]], running: RunningPods
    ) -> None:
        """`charged` are the uids of the pods by cluster queue."""
        self._queues, self._charged = queues, charged
        self._pods, self._jobs, self._leaving = running.pods, running.jobs, running.leaving
        self._ending: dict[str, Counter[str]] = {}
        self._taken: Counter[str] = Counter()

    def verdict(self, pod: Pod, queue: str) -> Verdict:
        """Say whether a pod that is charged to this cluster queue may be returned."""
        found = self._queues.get(queue)
        ending = 0
        if found is not None and found.allow_job_retries and pod.owner is not None:
            is_going = pod.uid in self._leaving.evicting
            ending = self._going(queue)[pod.owner.uid] + self._taken[pod.owner.uid] - is_going
        return may_return(pod, found, self._jobs, ending=ending)

    def take(self, pod: Pod) -> None:
        """Note that this pod is evicted too."""
        if pod.owner is not None:
            self._taken[pod.owner.uid] += 1

    def may_all_go(self, pods: Sequence[tuple[Pod, str]]) -> bool:
        """Say whether all of these may be returned together; each pod with the queue that it is charged to."""
        taken = Counter(self._taken)
        try:
            for pod, queue in pods:
                if not self.verdict(pod, queue).may_return:
                    return False
                self.take(pod)
            return True
        finally:
            self._taken = taken

    def _going(self, queue: str) -> Counter[str]:
        """Count by owner the queue's pods that are being evicted or deleted; those too that are charged no more."""
        if queue not in self._ending:
            leaving, admitted = self._leaving, self._charged.get(queue, ())
            lost = (uid for uid in leaving.terminating if uid not in admitted and self._is_of(uid, queue))
            pods = (self._pods[uid] for uid in chain(admitted, lost))
            evicting = leaving.evicting
            owners = (p.owner.uid for p in pods if p.owner is not None and (p.is_terminating or p.uid in evicting))
            self._ending[queue] = Counter(owners)
        return self._ending[queue]

    def _is_of(self, uid: str, queue: str) -> bool:
        pod = self._pods.get(uid)
        return pod is not None and pod.is_admitted and pod.cluster_queue == queue


def may_return(pod: Pod, queue: ClusterQueue | None, jobs: Mapping[str, Job], *, ending: int = 0) -> Verdict:
    """Say whether a pod that is charged to this queue may be returned. `jobs` by uid.

    `ending`: how many pods of its Job are being evicted or deleted, and so will count as failed.
    """
    owner = pod.owner
    if pod.is_job or pod.is_of_admitted_job:
        return Verdict(True, "its Job is suspended as a whole, which counts nothing as failed")
    if owner is None:
        if queue is not None and queue.allow_bare_pods:
            return Verdict(True, "allowBarePods allows it, although no owner recreates it")
        return Verdict(False, "no owner would recreate it (allowBarePods is not set)")
    group = _group(owner)
    if (group, owner.kind) in _REMAKING:
        return Verdict(True, f"its {owner.kind} makes another")
    if (group, owner.kind) == ("batch", "Job"):
        return _of_job(jobs.get(owner.uid), queue, ending)
    return Verdict(False, f"its owner is a {owner.kind}, of which it is not known that it would make another")


def _of_job(job: Job | None, queue: ClusterQueue | None, ending: int) -> Verdict:
    if job is None:
        return Verdict(False, "its Job is not known")
    if job.ignores_disruption:
        return Verdict(True, "its Job makes another and does not count it as failed")
    if queue is None or not queue.allow_job_retries:
        return Verdict(False, "its Job would count it as failed (no podFailurePolicy that ignores DisruptionTarget)")
    if job.is_limited_per_index:
        return Verdict(False, "its Job limits the retries of each index (backoffLimitPerIndex)")
    if job.failed + ending < job.backoff_limit:
        return Verdict(True, "its Job makes another and has retries left")
    return Verdict(False, "its Job has no retry left")


def _group(owner: Owner) -> str:
    return owner.api_version.rpartition("/")[0]
