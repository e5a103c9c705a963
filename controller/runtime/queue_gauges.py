"""Brings the metrics of ClusterQueues up to date when somebody scrapes them, by the rules of their statuses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from controller.cache.cluster import ClusterCache
from controller.core.queueing.queues import ClusterQueue
from controller.core.workloads.pods import Phase
from controller.objects.read import Entry, Key
from controller.runtime.fair_sharing_status import fair_sharing_status
from controller.runtime.gauges import whole
from controller.runtime.queue_status import findings, usage_of
from controller.telemetry.queue_metrics import QueueMetrics

_PART = 20
"""So many queues are gone through before others have their turn."""


def refresh(cache: ClusterCache, entries: Mapping[Key, Entry], metrics: QueueMetrics, now: float) -> Iterator[None]:
    """Set all of them, in parts as this is gone through. `entries`: the ClusterQueues as they were written."""
    metrics.clear()
    for number, entry in enumerate(list(entries.values()), start=1):
        _say(cache, entry, metrics, now)
        if number % _PART == 0:
            yield


def _say(cache: ClusterCache, entry: Entry, metrics: QueueMetrics, now: float) -> None:
    name = entry.key[1]
    queue = cache.cluster_queues.get(name)
    for phase in (Phase.RESERVED, Phase.RUNNING):
        metrics.pods.labels(name, phase.value.lower()).set(cache.usage.counts[(name, phase)])
    for condition, is_true, *_ in findings(cache, entry, queue, now):
        metrics.conditions.labels(name, condition).set(is_true)
    share = fair_sharing_status(cache, name)
    if share is not None:
        metrics.share.labels(name).set(share["weightedShare"])
    if queue is not None:
        _borrowed(cache, queue, metrics)
        _budgets(cache, queue, metrics)


def _borrowed(cache: ClusterCache, queue: ClusterQueue, metrics: QueueMetrics) -> None:
    for flavor, resource in cache.tree.columns(queue.name) if queue.parent else ():
        borrowed = usage_of(cache, queue, (flavor, resource))[2]
        metrics.borrowed.labels(queue.name, flavor, resource).set(whole(resource, borrowed))


def _budgets(cache: ClusterCache, queue: ClusterQueue, metrics: QueueMetrics) -> None:
    now = int(cache.now)
    for budget in queue.budgets:
        tally = cache.budgets.tally(queue.name, budget)
        if tally is None:
            continue
        used = tally.used(now)
        metrics.budget_used.labels(queue.name, budget.name).set(used / budget.amount if budget.amount else 1.0)
        runs_out = now if used >= budget.amount else tally.runs_out_at(now, budget.amount)
        if runs_out is not None:
            metrics.budget_left.labels(queue.name, budget.name).set(max(0, runs_out - now))
