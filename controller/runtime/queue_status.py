"""Status of a ClusterQueue: what it and the queues below it hold, use and borrow, and whether it can be used."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from controller.api.cluster_queue_status import FLAVORS_REPORTED, LIMITS_REPORTED
from controller.cache.cluster import ClusterCache
from controller.core.calendar.windows import Outlook
from controller.core.decision.admission_checks import any_fault, tree_fault
from controller.core.eviction_rules.over_quota import excesses
from controller.core.kubernetes.amounts import format_amount
from controller.core.queueing.operator_actions import aside
from controller.core.queueing.queues import ClusterQueue, StopPolicy
from controller.core.quota.quota_tree import Column
from controller.core.reasons import first_few
from controller.core.workloads.pods import Phase
from controller.kube.clock import rfc3339
from controller.objects.read import Entry
from controller.runtime.budget_status import budgets_status, used_up
from controller.runtime.drain_status import queue_drain
from controller.runtime.fair_sharing_status import fair_sharing_status, weight_without_effect
from controller.runtime.kept_status import places_kept
from controller.runtime.status import Finding, Status, conditions
from controller.runtime.summaries import flavors_text

_DOUBT_SECONDS = 60.0
"""How long a doubt about a release lasts before the queue says so."""


def cluster_queue_status(cache: ClusterCache, entry: Entry, now: float) -> Status:
    """Return what a ClusterQueue's status should be."""
    name = entry.key[1]
    queue = cache.cluster_queues.get(name)
    below = cache.tree.below(name)
    usage = {} if queue is None else _usage(cache, queue)
    outlook = cache.queues.outlook_of(name)
    return {
        "pending": sum(cache.backlog.count(key) for one in below for key in cache.queues_of(one)),
        "reserved": sum(cache.usage.counts[(one, Phase.RESERVED)] for one in below),
        "running": sum(cache.usage.counts[(one, Phase.RUNNING)] for one in below),
        "flavorsUsage": [
            {"name": flavor, "resources": [_resource_usage(one, *found) for one, found in of.items()]}
            for flavor, of in usage.items()
        ],
        "limitsUsage": [] if queue is None else _limits_usage(cache, queue),
        "schedule": _schedule(outlook),
        "columns": _columns(usage, outlook),
        **budgets_status(cache, entry, queue),
        "fairSharing": fair_sharing_status(cache, name),
        "conditions": conditions(entry, list(findings(cache, entry, queue, now)), now),
    }


def findings(cache: ClusterCache, entry: Entry, queue: ClusterQueue | None, now: float) -> Iterator[Finding]:
    """Yield what its conditions say. `queue`: as it counts now; None: it cannot be read."""
    name = entry.key[1]
    yield _is_active(cache, entry, queue)
    yield from _over_quota(cache, queue)
    yield from weight_without_effect(cache, queue)
    yield from queue_drain(cache, name)
    yield from places_kept(cache, name)
    yield from used_up(cache, queue)
    yield from _in_doubt(cache, name, now)


_Amounts = tuple[int, int, int]


def _usage(cache: ClusterCache, queue: ClusterQueue) -> dict[str, dict[str, _Amounts]]:
    """By flavor and resource: its own flavors in their order, then those that only queues below it have."""
    by_flavor: dict[str, list[str]] = {quota.flavor: list(quota.nominal) for quota in queue.flavors}
    for flavor, resource in sorted(cache.tree.columns(queue.name)):
        resources = by_flavor.setdefault(flavor, [])
        if resource not in resources:
            resources.append(resource)
    return {
        flavor: {resource: usage_of(cache, queue, (flavor, resource)) for resource in resources}
        for flavor, resources in list(by_flavor.items())[:FLAVORS_REPORTED]
    }


def usage_of(cache: ClusterCache, queue: ClusterQueue, column: Column) -> _Amounts:
    """Return what is used of a column, what the queue and those below own of it, and what is borrowed, in its unit."""
    cell = cache.tree.cell(queue.name, column)
    total = sum(cache.usage.by_queue.get((one, *column), 0) for one in cache.tree.below(queue.name))
    own = cell.subtree if cell is not None else 0
    return total, own, max(0, cache.usage.in_tree.used(queue.name, *column) - own) if queue.parent else 0


def _resource_usage(resource: str, total: int, quota: int, borrowed: int) -> dict[str, str]:
    amounts = {"total": total, "quota": quota, "borrowed": borrowed}
    return {"name": resource, **{what: format_amount(resource, amount) for what, amount in amounts.items()}}


def _columns(usage: Mapping[str, Mapping[str, _Amounts]], outlook: Outlook | None) -> dict[str, str]:
    borrowed = {
        flavor: {resource: found[2:] for resource, found in of.items() if found[2]} for flavor, of in usage.items()
    }
    return {
        "used": flavors_text({flavor: {one: found[:2] for one, found in of.items()} for flavor, of in usage.items()}),
        "borrowed": flavors_text(borrowed),
        "openWindows": ", ".join(outlook.open) if outlook is not None else "",
    }


def _limits_usage(cache: ClusterCache, queue: ClusterQueue) -> list[dict[str, str]]:
    return [
        {
            "name": resource,
            "total": format_amount(resource, cache.usage.in_tree.used(queue.name, "", resource)),
            "max": format_amount(resource, most),
        }
        for resource, most in list(queue.limits.items())[:LIMITS_REPORTED]
    ]


def _schedule(outlook: Outlook | None) -> Status | None:
    if outlook is None:
        return None
    comes: Status = {"nextChange": rfc3339(outlook.until)} if outlook.opens or outlook.closes else {}
    moves = {"opens": outlook.opens, "closes": outlook.closes}
    return {
        "open": list(outlook.open),
        **comes,
        **{what: list(names) for what, names in moves.items() if names},
    }


def _over_quota(cache: ClusterCache, queue: ClusterQueue | None) -> Iterator[Finding]:
    """Usage is what the pods as they are take: a quota that was lowered, or a pod that grew, can pass it."""
    if queue is None:
        return
    over = excesses(cache.tree, cache.usage.in_tree, queue.name)
    if over:
        said = ", ".join(one.text for one in over)
        taken = f"taken back ({queue.takes_back_by})" if queue.takes_back_by else "nothing is taken back"
        text = f"more is used than the queue may use: {said}; {taken}, nothing more admitted"
        yield ("OverQuota", True, "UsageAboveQuota", text)


def _in_doubt(cache: ClusterCache, name: str, now: float) -> Iterator[Finding]:
    """Release patches without an answer keep their quota until it is known what became of them."""
    doubts = cache.doubts.older_than(now - _DOUBT_SECONDS, name)
    if doubts:
        pods = first_few([one.pod for one in doubts])
        text = f"release patches got no answer since {rfc3339(doubts[0].since)}, and their quota stays taken: {pods}"
        yield ("ReleasesInDoubt", True, "NoAnswer", text)


def _is_active(cache: ClusterCache, entry: Entry, queue: ClusterQueue | None) -> Finding:
    if queue is None:
        return ("Active", False, "Invalid", entry.fault or "the object cannot be read")
    missing = [quota.flavor for quota in queue.flavors if quota.flavor not in cache.flavors]
    if missing:
        text = f"spec.flavors names {', '.join(missing)}, which does not exist or is invalid"
        return ("Active", False, "FlavorNotFound", text)
    apart = any_fault(queue, cache.flavors)
    if apart is not None:
        return ("Active", False, "FlavorsDoNotGoTogether", apart)
    fault = tree_fault(cache.tree, queue.name, cache.flavors)
    if fault is not None:
        return ("Active", False, "ParentNotUsable", fault)
    if queue.stop is not StopPolicy.NONE:
        window = cache.queues.stopped_by(queue.name)
        written = f"spec.stopPolicy is {queue.stop}{aside(queue.stop_note)}"
        what = f"the open window {window} says stopPolicy {queue.stop}" if window else written
        return ("Active", False, "Stopped", f"{what}: nothing is admitted")
    stopped = [one for one in cache.tree.path(queue.name) if cache.cluster_queues[one].stop is not StopPolicy.NONE]
    if stopped:
        above = cache.cluster_queues[stopped[0]]
        text = f"ClusterQueue {above.name}, above it, has stopPolicy {above.stop}{aside(above.stop_note)}"
        return ("Active", False, "ParentStopped", text)
    closing = cache.budgets.used_up.closing(cache.tree, queue.name)
    if closing is not None:
        return ("Active", False, "BudgetExhausted", closing.sentence)
    children = cache.tree.children(queue.name)
    if children:
        return ("Active", True, "Ready", f"Shares quota among the queues below it: {first_few(children)}")
    return _takes_pods(queue)


def _takes_pods(queue: ClusterQueue) -> Finding:
    if not queue.flavors:
        return ("Active", False, "NoFlavors", "spec.flavors is empty and no queue is below it: it can give nothing")
    if queue.namespaces is None:
        text = "spec.namespaceSelector is not set, so no namespace may use this queue; {} selects all"
        return ("Active", False, "NoNamespaceSelected", text)
    return ("Active", True, "Ready", "Can admit workloads")
