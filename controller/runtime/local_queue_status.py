"""Status of a LocalQueue: what of it waits and runs, and whether its door is open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from controller.cache.cluster import ClusterCache
from controller.core.decision.admission_checks import admitting_queue
from controller.core.kubernetes.amounts import format_amount
from controller.core.queueing.operator_actions import aside
from controller.core.queueing.queues import ClusterQueue, LocalQueue, StopPolicy
from controller.core.quota.quota_tree import Column
from controller.core.reasons import Reason
from controller.core.workloads.decisions import Wait
from controller.core.workloads.pods import Phase
from controller.objects.read import Entry
from controller.runtime.drain_status import local_queue_drain
from controller.runtime.fair_sharing_status import past_usage_status
from controller.runtime.queue_status import usage_of
from controller.runtime.status import Finding, Status, conditions
from controller.runtime.summaries import flavors_text

_CLOSED = {
    Reason.QUEUE_STOPPED: "ClusterQueueStopped",
    Reason.NAMESPACE_NOT_SELECTED: "NamespaceNotSelected",
    Reason.BUDGET_EXHAUSTED: "BudgetExhausted",
}


def local_queue_status(cache: ClusterCache, entry: Entry, now: float) -> Status:
    """Return what a LocalQueue's status should be."""
    local = cache.local_queues.get(entry.key)
    findings = [_door_is_open(cache, entry, local), *local_queue_drain(cache, entry.key)]
    return {
        "pending": cache.backlog.count(entry.key),
        "reserved": cache.usage.local_counts[(entry.key, Phase.RESERVED)],
        "running": cache.usage.local_counts[(entry.key, Phase.RUNNING)],
        "fairSharing": past_usage_status(cache, entry),
        "quota": None if local is None else _quota(cache, local),
        "conditions": conditions(entry, findings, now),
    }


def _quota(cache: ClusterCache, local: LocalQueue) -> Status | None:
    """What the ClusterQueue gives and has free: amounts, and nothing of whose pods use them."""
    queue = cache.cluster_queues.get(local.cluster_queue)
    if queue is None:
        return None
    amounts = {
        one.flavor: {resource: _amounts(cache, queue, (one.flavor, resource)) for resource in one.nominal}
        for one in queue.flavors
    }
    return {
        "flavors": [
            {"name": flavor, "resources": [_given(resource, *found) for resource, found in by_resource.items()]}
            for flavor, by_resource in amounts.items()
        ],
        "columns": {
            "used": flavors_text({flavor: _part(of, slice(2)) for flavor, of in amounts.items()}),
            "free": flavors_text({flavor: _part(of, slice(2, 3)) for flavor, of in amounts.items()}),
        },
    }


def _amounts(cache: ClusterCache, queue: ClusterQueue, column: Column) -> tuple[int, int, int]:
    """Return what of the column is used, the quota, and what is free."""
    used, quota, _ = usage_of(cache, queue, column)
    return used, quota, max(0, cache.usage.in_tree.available(queue.name, column).amount)


def _given(resource: str, used: int, quota: int, free: int) -> dict[str, str]:
    amounts = {"quota": quota, "used": used, "free": free}
    return {"name": resource, **{what: format_amount(resource, amount) for what, amount in amounts.items()}}


def _part(of: Mapping[str, Sequence[int]], which: slice) -> dict[str, Sequence[int]]:
    return {resource: amounts[which] for resource, amounts in of.items()}


def _door_is_open(cache: ClusterCache, entry: Entry, local: LocalQueue | None) -> Finding:
    if local is None:
        return ("Active", False, "Invalid", entry.fault or "the object cannot be read")
    if local.stop is not StopPolicy.NONE:
        text = f"spec.stopPolicy is {local.stop}{aside(local.stop_note)}: nothing is admitted"
        return ("Active", False, "Stopped", text)
    entrance = admitting_queue(cache.snapshot(), entry.key)
    if isinstance(entrance, Wait):
        return ("Active", False, _CLOSED.get(entrance.reason, "ClusterQueueNotUsable"), entrance.text)
    return ("Active", True, "Ready", "Can submit workloads")
