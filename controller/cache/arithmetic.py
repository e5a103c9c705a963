"""The figures behind what a workload is told, as the cache has them now."""

from __future__ import annotations

from controller.cache.cluster import ClusterCache
from controller.core.explaining.arithmetic import Arithmetic, arithmetic, place_of
from controller.core.workloads.decisions import Wait
from controller.core.workloads.workload import Workload


def figures_of(cache: ClusterCache, workload: Workload, wait: Wait) -> Arithmetic | None:
    """Return who holds what a workload waits for, and its place; None where figures say nothing, or lead nowhere."""
    local = cache.local_queues.get(workload.kind.queue)
    if local is None:
        return None
    past = cache.usage.past.at(cache.now, cache.local_queues)
    place = place_of(
        workload,
        local.cluster_queue,
        (cache.backlog.runs[kind] for kind in cache.openings.classes_of(local.cluster_queue)),
        past,
    )
    queue = cache.cluster_queues.get(local.cluster_queue)
    may_preempt = queue is not None and queue.preemption.is_any
    return arithmetic(wait, cache.tree, cache.usage.in_tree, place, may_preempt=may_preempt)
