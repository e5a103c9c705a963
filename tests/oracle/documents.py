"""A small world in the words of a scenario: what the core is given to read, and what people are shown."""

from __future__ import annotations

from typing import Any

from controller.core.keys import ADMITTED_AT, CLUSTER_QUEUE, FLAVOR
from controller.kube.clock import epoch, rfc3339
from tests.oracle.worlds import (
    NOW,
    TAINT,
    UNITS,
    Amounts,
    Flavor,
    Make,
    Node,
    Pod,
    Preemption,
    Queue,
    Requirement,
    Running,
    World,
)

Json = dict[str, Any]


def document(world: World) -> Json:
    """Return the world as a scenario has it, with its pods under `create`."""
    return {
        "time": NOW,
        "namespaces": {name: dict(labels) for name, labels in world.namespaces.items()},
        "flavors": {flavor.name: _flavor(flavor) for flavor in world.flavors},
        "clusterQueues": {queue.name: _queue(queue) for queue in world.queues},
        "localQueues": {
            f"{door.namespace}/{door.name}": {
                "clusterQueue": door.queue,
                **({"stopPolicy": "Hold"} if door.is_held else {}),
            }
            for door in world.doors
        },
        "nodes": {node.name: _node(node) for node in world.nodes},
        "foreign": {one.name: _running(one) for one in world.running},
        "terminate": [one.name for one in world.running if one.is_ending],
        "create": {pod.name: _pod(pod) for pod in world.pods},
    }


def _amounts(amounts: Amounts) -> Json:
    return {resource: _amount(resource, amount) for resource, amount in amounts.items()}


def _amount(resource: str, amount: int) -> str:
    return f"{amount}{UNITS[resource]}"


def _requirements(requirements: tuple[Requirement, ...]) -> list[Json]:
    return [
        {"key": key, "operator": operator, **({"values": list(values)} if values else {})}
        for key, operator, values in requirements
    ]


def _flavor(flavor: Flavor) -> Json:
    return {
        **({"nodeLabels": dict(flavor.labels)} if flavor.labels else {}),
        **({"nodeRequirements": _requirements(flavor.requirements)} if flavor.requirements else {}),
        **({"tolerations": [{"key": TAINT, "operator": "Exists"}]} if flavor.tolerates else {}),
        **({"capacity": {"mode": "Static", "static": _amounts(flavor.static)}} if flavor.static is not None else {}),
    }


def _queue(queue: Queue) -> Json:
    selector: Json | None = None
    if queue.namespaces is not None:
        selector = {"matchExpressions": _requirements(queue.namespaces)} if queue.namespaces else {}
    limits = [{"name": name, "max": most} for name, most in _amounts(queue.limits).items()]
    return {
        "namespaceSelector": selector,
        **({"queueingStrategy": "StrictFIFO"} if queue.is_strict else {}),
        **({"stopPolicy": "Hold"} if queue.is_held else {}),
        **({"parent": queue.parent} if queue.parent else {}),
        **({"limits": limits} if limits else {}),
        **({"preemption": _preemption(queue.preemption)} if queue.preemption != Preemption() else {}),
        **({"allowBarePods": True} if queue.gives_bare_pods else {}),
        **({"flavorFungibility": {"whenCanBorrow": "TryNextFlavor"}} if queue.tries_next else {}),
        "quotas": {
            flavor: {resource: _given(queue, flavor, resource, amount) for resource, amount in amounts.items()}
            for flavor, amounts in queue.quotas
        },
    }


def _preemption(policy: Preemption) -> Json:
    threshold = {"policy": "LowerPriority", "maxPriorityThreshold": policy.threshold}
    return {
        "withinClusterQueue": policy.within,
        "reclaimWithinCohort": policy.reclaim,
        **({"borrowWithinCohort": threshold} if policy.threshold is not None else {}),
        **({"minimumRuntime": f"{policy.spares}m"} if policy.spares is not None else {}),
    }


def _given(queue: Queue, flavor: str, resource: str, amount: int) -> Json | str:
    limits = {
        name: _amount(resource, given[flavor, resource])
        for name, given in (("borrowingLimit", queue.borrowing), ("lendingLimit", queue.lending))
        if (flavor, resource) in given
    }
    return {"nominalQuota": _amount(resource, amount), **limits} if limits else _amount(resource, amount)


def _node(node: Node) -> Json:
    return {
        **_amounts(node.amounts),
        "labels": dict(node.labels),
        **({"taints": [f"{TAINT}:NoSchedule"]} if node.is_tainted else {}),
        **({} if node.is_ready else {"ready": False}),
        **({"cordoned": True} if node.is_cordoned else {}),
    }


def _running(one: Running) -> Json:
    written: Json = {**_amounts(one.requests), "namespace": one.namespace, "node": one.node, **_group(one)}
    written |= {"created": _created(one), "priority": one.priority}
    written |= {"owner": "ReplicaSet/web"} if one.is_replaced else {}
    written["annotations"] = {ADMITTED_AT: rfc3339(epoch(NOW) - 60 * one.minutes)}
    if one.queue:
        written |= {"queue": one.door, "labels": {CLUSTER_QUEUE: one.queue, FLAVOR: one.flavor}}
    return written


def _created(pod: Pod | Running) -> str:
    return f"2026-03-02T07:00:0{pod.created}Z"


def _group(pod: Pod | Running) -> Json:
    return {"group": f"{pod.group}/{pod.size}"} if pod.group else {}


def _pod(pod: Pod) -> Json:
    return {
        **_make(pod.make),
        "namespace": pod.namespace,
        "queue": pod.queue,
        "priority": pod.priority,
        "created": _created(pod),
        **({"gates": ["example.com/other"]} if pod.has_foreign_gate else {}),
        **_group(pod),
    }


def _make(make: Make) -> Json:
    terms = [
        " and ".join(" ".join(filter(None, (key, op, ",".join(values)))) for key, op, values in term)
        for term in make.terms
    ]
    return {
        **_amounts({resource: amount for resource, amount in make.requests.items() if amount}),
        **({"nodeSelector": dict(make.selector)} if make.selector else {}),
        **({"requires": terms} if terms else {}),
        **({"tolerations": [{"key": TAINT, "operator": "Exists"}]} if make.tolerates else {}),
    }
