"""Brings the gauges up to date when somebody scrapes them; between scrapes they cost nothing."""

from __future__ import annotations

from controller.cache.cluster import ClusterCache
from controller.core.kubernetes.amounts import CPU
from controller.core.reasons import Reason
from controller.kube import clock
from controller.telemetry.metrics import ControllerMetrics


def refresh(cache: ClusterCache, metrics: ControllerMetrics) -> None:
    """Set the gauges of waiting and of lost pods, usage and quota from the cache."""
    metrics.doubts.set(len(cache.doubts.open))
    metrics.oldest_doubt.set(cache.doubts.oldest_seconds(clock.now()))
    metrics.lost.set(len(cache.clocks.lost.uids))
    metrics.pending.clear()
    metrics.used.clear()
    metrics.quota.clear()
    for kind, run in cache.backlog.runs.items():
        local = cache.local_queues.get(kind.queue)
        # a pod can name any queue: only queues that exist become label values
        name = local.cluster_queue if local is not None and local.cluster_queue in cache.cluster_queues else ""
        wait = cache.reasons.of(kind)
        preempting = sum(one.uid in wait.preempting for one in run) if wait.preempting else 0
        for reason, count in ((Reason.PREEMPTING, preempting), (wait.of("").reason, len(run) - preempting)):
            if count:
                metrics.pending.labels(name, reason.value).inc(count * kind.size)
    for queue in cache.cluster_queues.values():
        for quota in queue.flavors:
            for resource, nominal in quota.nominal.items():
                labels = (queue.name, quota.flavor, resource)
                metrics.quota.labels(*labels).set(_whole(resource, nominal))
                metrics.used.labels(*labels).set(_whole(resource, cache.usage.by_queue.get(labels, 0)))


def _whole(resource: str, amount: int) -> float:
    return amount / 1000 if resource == CPU else amount
