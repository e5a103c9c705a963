"""May a pod be returned to its owner: is another one made in its place, and at no cost?

Evicting a pod throws away what it has done so far; who drains a queue accepts that. The cost meant here is the owner's:
a pod that nobody makes again, or a Job that comes nearer to failing. Every eviction of ours asks this first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from controller.core.owners import Job, Owner
from controller.core.pods import Pod
from controller.core.queues import ClusterQueue

_REMAKING = frozenset({("apps", "ReplicaSet"), ("apps", "StatefulSet"), ("", "ReplicationController")})
"""(API group, kind) of owners that make a pod anew for as long as they have too few of them."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a pod may be returned, and why, as a clause that names no object."""

    may_return: bool
    why: str


def may_return(pod: Pod, queue: ClusterQueue | None, jobs: Mapping[str, Job], *, ending: int = 0) -> Verdict:
    """Say whether a pod that is charged to this queue may be returned. `jobs` by uid.

    `ending`: how many pods of its Job are being evicted or deleted, and so will count as failed.
    """
    owner = pod.owner
    if owner is None:
        if queue is not None and queue.allow_bare_pods:
            return Verdict(True, "allowBarePods lets it go, though nobody makes it anew")
        return Verdict(False, "nobody would make it anew (allowBarePods is not set)")
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
