"""Brings the gauges up to date when somebody scrapes them; between scrapes they cost nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from controller.cache.cluster import ClusterCache
from controller.core.reasons import Reason
from controller.core.workloads.workload import WorkloadClass
from controller.kube import clock
from controller.runtime.queue_gauges import whole
from controller.telemetry.metrics import ControllerMetrics

_PART = 200
"""So many classes, or amounts of queues, are gone through before others have their turn."""


def refresh(cache: ClusterCache, metrics: ControllerMetrics) -> Iterator[None]:
    """Set the gauges of waiting and of lost pods, usage and quota from the cache, in parts as this is gone through.

    Classes that come meanwhile count the next time.
    """
    metrics.doubts.set(len(cache.doubts.open))
    metrics.oldest_doubt.set(cache.doubts.oldest_seconds(clock.now()))
    metrics.lost.set(len(cache.clocks.lost.uids))
    pending: Counter[tuple[str, str]] = Counter()
    for number, kind in enumerate(list(cache.backlog.runs), start=1):
        _count(cache, kind, pending)
        if number % _PART == 0:
            yield
    metrics.pending.clear()
    for (name, reason), count in pending.items():
        metrics.pending.labels(name, reason).set(count)
    yield from _amounts(cache, metrics)


def _count(cache: ClusterCache, kind: WorkloadClass, pending: Counter[tuple[str, str]]) -> None:
    run = cache.backlog.runs.get(kind, ())
    local = cache.local_queues.get(kind.queue)
    # a pod can name any queue: only queues that exist become label values
    name = local.cluster_queue if local is not None and local.cluster_queue in cache.queues.current else ""
    wait = cache.reasons.of(kind)
    for_whom = (cache.backlog.get(uid) for uid in wait.preempting)
    preempting = sum(one is not None and one.kind == kind for one in for_whom)
    for reason, count in ((Reason.PREEMPTING, preempting), (wait.of("").reason, len(run) - preempting)):
        if count:
            pending[name, reason.value] += count * kind.wanted


def _amounts(cache: ClusterCache, metrics: ControllerMetrics) -> Iterator[None]:
    metrics.used.clear()
    metrics.quota.clear()
    number = 0
    for queue in list(cache.queues.current.values()):
        for quota in queue.flavors:
            for resource, nominal in quota.nominal.items():
                labels = (queue.name, quota.flavor, resource)
                metrics.quota.labels(*labels).set(whole(resource, nominal))
                metrics.used.labels(*labels).set(whole(resource, cache.usage.by_queue.get(labels, 0)))
                number += 1
                if number % _PART == 0:
                    yield
