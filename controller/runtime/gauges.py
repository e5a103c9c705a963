"""Brings the gauges up to date when somebody scrapes them; between scrapes they cost nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from controller.cache.cluster import ClusterCache
from controller.core.kubernetes.amounts import CPU
from controller.core.reasons import Reason
from controller.core.workloads.workload import WorkloadClass
from controller.kube import clock
from controller.telemetry.metrics import ControllerMetrics

_PART = 200
"""So many classes, or amounts of queues, are gone through before others have their turn."""


def refresh(cache: ClusterCache, metrics: ControllerMetrics) -> Iterator[None]:
    """Set the gauges of waiting pods and their requests, lost pods, usage and quota, in parts as this is gone through.

    Classes that come meanwhile count the next time.
    """
    metrics.doubts.set(len(cache.doubts.open))
    metrics.oldest_doubt.set(cache.doubts.oldest_seconds(clock.now()))
    metrics.lost.set(len(cache.clocks.lost.uids))
    pending: Counter[tuple[str, str]] = Counter()
    requests: Counter[tuple[str, str, str]] = Counter()
    for number, kind in enumerate(list(cache.backlog.runs), start=1):
        for name, reason, count in _waiting(cache, kind):
            pending[name, reason] += count * kind.wanted
            for resource, amount in kind.requests:
                requests[name, reason, resource] += count * amount
        if number % _PART == 0:
            yield
    metrics.pending.clear()
    for (name, reason), count in pending.items():
        metrics.pending.labels(name, reason).set(count)
    metrics.requests.clear()
    for (name, reason, resource), amount in requests.items():
        metrics.requests.labels(name, reason, resource).set(whole(resource, amount))
    yield from _amounts(cache, metrics)


def _waiting(cache: ClusterCache, kind: WorkloadClass) -> Iterator[tuple[str, str, int]]:
    """Yield the ClusterQueue of a class, a reason, and how many of its workloads wait for it."""
    run = cache.backlog.runs.get(kind, ())
    local = cache.local_queues.get(kind.queue)
    # a pod can name any queue: only queues that exist become label values
    name = local.cluster_queue if local is not None and local.cluster_queue in cache.queues.current else ""
    wait = cache.reasons.of(kind)
    for_whom = (cache.backlog.get(uid) for uid in wait.preempting)
    preempting = sum(one is not None and one.kind == kind for one in for_whom)
    for reason, count in ((Reason.PREEMPTING, preempting), (wait.of("").reason, len(run) - preempting)):
        if count:
            yield name, reason.value, count


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


def whole(resource: str, amount: int) -> float:
    """Return an amount in cores or whole units."""
    return amount / 1000 if resource == CPU else amount
