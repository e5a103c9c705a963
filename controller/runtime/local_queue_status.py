"""Status of a LocalQueue: what of it waits and runs, and whether its door is open."""

from __future__ import annotations

from controller.cache.cluster import ClusterCache
from controller.core.decision.admission_checks import admitting_queue
from controller.core.queueing.operator_actions import aside
from controller.core.queueing.queues import LocalQueue, StopPolicy
from controller.core.reasons import Reason
from controller.core.workloads.decisions import Wait
from controller.core.workloads.pods import Phase
from controller.objects.read import Entry
from controller.runtime.drain_status import local_queue_drain
from controller.runtime.fair_sharing_status import past_usage_status
from controller.runtime.status import Finding, Status, conditions

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
        "conditions": conditions(entry, findings, now),
    }


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
