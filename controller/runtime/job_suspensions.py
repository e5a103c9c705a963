"""Suspend a Job, or what else was admitted as a whole: so its pods go, and nothing counts as failed."""

from __future__ import annotations

from controller.cache.cluster import ClusterCache
from controller.core.gate.job_release import suspend_patch
from controller.core.workloads.held_sets import uid_of_object
from controller.core.workloads.pods import Pod
from controller.kube.client import Client
from controller.kube.decode_answers import AnswerDecoder
from controller.runtime.pod_requests import patch_pod


def job_of_evicted(pod: Pod) -> str:
    """Return the uid of what is suspended in place of an eviction of this pod; empty: the pod is evicted."""
    return uid_of_object(pod.uid if pod.is_job else pod.admitted_with)


class JobSuspensions:
    """Sends the patches."""

    def __init__(self, client: Client, cache: ClusterCache, decode: AnswerDecoder) -> None:
        self._client = client
        self._cache = cache
        self._decode = decode

    def job_of(self, pod: Pod) -> Pod | None:
        """Return the record of what a pod goes with; None where that is admitted no more: then the pod goes anyway."""
        job = pod if pod.is_job else self._cache.pods.get(pod.admitted_with)
        is_it = job is not None and job.is_job and job.is_admitted and job.namespace == pod.namespace
        return job if is_it else None

    async def suspend(self, job: Pod) -> None:
        """Send the patch, and let the cache see what comes of it. Raises KubeError."""
        body = await patch_pod(self._client, job, suspend_patch(job))
        self._cache.update_pod(self._decode(body, job))
