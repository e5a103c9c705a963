"""Status of our own objects: what each holds and whether it can be used. Written when it changed, a few a second.

What a status should say is worked out here from the cache and nothing else; the clock only dates transitions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from controller.cache.cluster import ClusterCache
from controller.core.kubernetes.amounts import format_amount
from controller.core.pod_policies.policies import Mode, Policy, Target
from controller.core.queueing.queues import Flavor
from controller.kube.clock import rfc3339
from controller.objects.read import Entry
from controller.runtime.summaries import resources_text

Status = dict[str, Any]
Finding = tuple[str, bool, str, str]
"""(condition type, whether it holds, reason, message)."""


def flavor_status(cache: ClusterCache, entry: Entry, now: float) -> Status:
    """Return what a ResourceFlavor's status should be."""
    name = entry.key[1]
    flavor = cache.flavors.get(name)
    if flavor is None:
        finding = ("Active", False, "Invalid", entry.fault or "the object cannot be read")
        nothing: Status = {"nodes": 0, "allocatable": {}, "used": {}, "free": {}, "columns": {"used": ""}}
        return {**nothing, "conditions": conditions(entry, [finding], now)}
    members = list(cache.index.members(name))
    if flavor.is_summed:
        total = dict(flavor.sums)
        used = {resource: cache.usage.by_flavor.get((name, resource), 0) for resource in total}
    else:
        total = _sum(cache.index.nodes[node].known for node in members)
        taken = _sum(cache.usage.by_node.get(node, {}) for node in members)
        used = {resource: taken.get(resource, 0) for resource in total}
    free = {resource: max(0, amount - used[resource]) for resource, amount in total.items()}
    return {
        "nodes": len(members),
        "allocatable": _quantities(total),
        "used": _quantities(used),
        "free": _quantities(free),
        "dryUntil": _dry_until(cache, name),
        "columns": {"used": resources_text({one: (used[one], total[one]) for one in total if one not in _IN_PLENTY})},
        "conditions": conditions(entry, _flavor_findings(cache, flavor, has_nodes=bool(members)), now),
    }


def policy_status(cache: ClusterCache, entry: Entry, now: float) -> Status:
    """Return what a pod scheduling policy's status should be, of either kind."""
    return {
        "pods": cache.policies.count(entry.key),
        "conditions": conditions(entry, [_policy_is_active(cache, entry)], now),
    }


def scheduling_policy_status(cache: ClusterCache, entry: Entry, now: float) -> Status:
    """Return what a SchedulingPolicy's status should be."""
    name = entry.key[1]
    mode = cache.policies.scheduling.get(name)
    if mode is None:
        finding = ("Active", False, "Invalid", entry.fault or "the object cannot be read")
    else:
        finding = ("Active", True, "Ready", _SCHEDULING_POLICY_DOES[mode])
    return {"pods": cache.policies.count_scheduling(name), "conditions": conditions(entry, [finding], now)}


def workload_kind_status(cache: ClusterCache, entry: Entry, now: float) -> Status:
    """Return what a WorkloadKind's status should be."""
    name = entry.key[1]
    if name not in cache.workload_kinds.known:
        finding = ("Active", False, "Invalid", entry.fault or "the object cannot be read")
    elif name in cache.workload_kinds.troubles:
        finding = ("Active", False, "NotWatched", cache.workload_kinds.troubles[name])
    else:
        finding = ("Active", True, "Ready", "Holds objects that name a queue as a whole")
    objects = cache.workload_kinds.objects[name]
    return {"objects": objects, "conditions": conditions(entry, [finding], now)}


def priority_class_status(cache: ClusterCache, entry: Entry, now: float) -> Status:
    """Return what a WorkloadPriorityClass's status should be."""
    name = entry.key[1]
    if name in cache.positions.classes:
        finding = ("Active", True, "Ready", "Orders the pods that name it")
    else:
        finding = ("Active", False, "Invalid", entry.fault or "the object cannot be read")
    return {"pending": cache.positions.count(name), "conditions": conditions(entry, [finding], now)}


_IN_PLENTY = ("pods", "ephemeral-storage")
"""What seldom decides whether a pod fits: the status has it, the column of `kubectl get` does not."""


def _flavor_findings(cache: ClusterCache, flavor: Flavor, *, has_nodes: bool) -> list[Finding]:
    overlaps = cache.index.overlaps.get(flavor.name, set())
    findings: list[Finding] = [("Active", True, "Ready", "Can be used")]
    if not flavor.is_summed and not has_nodes:
        text = "no node is of the flavor, so no pod fits: label nodes as the spec says, or correct the spec"
        findings = [("Active", False, "NoNodes", text)]
    if overlaps:
        others = ", ".join(sorted(overlaps))
        text = f"some nodes are also selected by {others}; each such node belongs to the one that says most about it"
        findings.append(("FlavorsOverlap", True, "SameNodes", text))
    spell = cache.clocks.stock_outs.dry.get(flavor.name)
    if spell is not None:
        findings.append(("Dry", True, "StockOut", spell.text))
    return findings


def _dry_until(cache: ClusterCache, name: str) -> str | None:
    """The latest spell, over or not: what waited through it must not make another at once, nor after a restart."""
    spell = cache.clocks.stock_outs.spells.get(name)
    return None if spell is None else rfc3339(spell.until)


_POLICY_DOES = {
    Mode.ENFORCE: "Changes {} that it selects",
    Mode.WARN: "Warns whoever creates {} that it selects",
    Mode.AUDIT: "Writes to the audit log about {} that it selects",
}
_POLICY_OF = {Target.PODS: "new pods", Target.POD_TEMPLATES: "templates, when they are written,"}

_SCHEDULING_POLICY_DOES = {
    Mode.ENFORCE: "Changes and refuses pods of accounts that may use it",
    Mode.WARN: "Warns whoever creates pods of accounts that may use it",
    Mode.AUDIT: "Writes to the audit log about pods of accounts that may use it",
}


def _policy_is_active(cache: ClusterCache, entry: Entry) -> Finding:
    known = cache.policies.known.get(entry.key)
    if known is None:
        return ("Active", False, "Invalid", entry.fault or "the object cannot be read")
    unset = _unset_selector(known.policy)
    if unset is not None:
        text = f"spec.{unset} is not set, so the policy selects nothing; {{}} selects everything"
        return ("Active", False, "NothingSelected", text)
    if known.contradictions:
        text = f"the policy's own parts rule each other out, so some of it is given to no pod: {known.contradictions}"
        return ("Active", False, "Contradictory", text)
    policy = known.policy
    return ("Active", True, "Ready", _POLICY_DOES[policy.mode].format(_POLICY_OF[policy.target]))


def _unset_selector(policy: Policy) -> str | None:
    if policy.pods is None:
        return "podSelector"
    return "namespaceSelector" if not policy.namespace and policy.namespaces is None else None


def conditions(entry: Entry, findings: Sequence[Finding], now: float) -> list[dict[str, Any]]:
    """Build the conditions; one whose status stays keeps its time."""
    standing = {c.get("type"): c for c in entry.status.get("conditions") or () if isinstance(c, dict)}
    conditions = []
    for kind, holds, reason, message in findings:
        status = "True" if holds else "False"
        former = standing.get(kind, {})
        since = former.get("lastTransitionTime") if former.get("status") == status else None
        conditions.append(
            {
                "type": kind,
                "status": status,
                "reason": reason,
                "message": message,
                "observedGeneration": entry.generation,
                "lastTransitionTime": since or rfc3339(now),
            }
        )
    return conditions


def _sum(many: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for amounts in many:
        for resource, amount in amounts.items():
            total[resource] = total.get(resource, 0) + amount
    return total


def _quantities(amounts: Mapping[str, int]) -> dict[str, str]:
    return {resource: format_amount(resource, amount) for resource, amount in sorted(amounts.items())}
