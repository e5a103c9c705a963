"""The door to a cluster queue: from a local queue to where its workloads stand in line, or why they do not."""

from __future__ import annotations

from collections.abc import Container, Mapping

from controller.core.lists import first_few
from controller.core.queueing.flavor_sets import fault_of
from controller.core.queueing.hands import aside
from controller.core.queueing.queues import ClusterQueue, Flavor, FlavorMode, StopPolicy
from controller.core.quota.quota_tree import QuotaTree
from controller.core.reasons import Reason
from controller.core.workloads.decisions import Wait
from controller.core.workloads.workload import QueueKey
from controller.core.world.snapshot import Snapshot


def door(snapshot: Snapshot, key: QueueKey) -> ClusterQueue | Wait:
    """Follow a local queue to its cluster queue; a Wait says why its workloads are not looked at."""
    namespace, name = key
    local = snapshot.local_queues.get(key)
    if local is None:
        text = f"LocalQueue {name} does not exist in namespace {namespace}" if name else "the pod names no queue"
        return Wait(Reason.QUEUE_NOT_FOUND, text)
    queue = snapshot.cluster_queues.get(local.cluster_queue)
    if queue is None:
        fault = snapshot.faulty_queues.get(local.cluster_queue)
        if fault is not None:
            text = f"ClusterQueue {local.cluster_queue} cannot be used as written: {fault}"
            return Wait(Reason.QUEUE_INVALID, text)
        return Wait(Reason.QUEUE_NOT_FOUND, f"ClusterQueue {local.cluster_queue} of LocalQueue {name} does not exist")
    if local.stop is not StopPolicy.NONE:
        return Wait(Reason.QUEUE_STOPPED, f"LocalQueue {name} has stopPolicy {local.stop}{aside(local.stop_note)}")
    return _enter(snapshot, queue, namespace)


def _enter(snapshot: Snapshot, queue: ClusterQueue, namespace: str) -> ClusterQueue | Wait:
    fault = tree_fault(snapshot.tree, queue.name, snapshot.flavors) or _takes_no_pods(snapshot, queue)
    if fault is not None:
        return Wait(Reason.QUEUE_INVALID, fault)
    for name in snapshot.tree.path(queue.name):
        above = snapshot.cluster_queues[name]
        if above.stop is not StopPolicy.NONE:
            text = f"ClusterQueue {name} has stopPolicy {above.stop}{aside(above.stop_note)}"
            return Wait(Reason.QUEUE_STOPPED, text)
    labels = snapshot.namespaces.get(namespace)
    if labels is None:
        return Wait(Reason.PENDING, f"namespace {namespace} is not known yet")
    if queue.namespaces is None or not queue.namespaces.matches(labels):
        text = f"the namespaceSelector of ClusterQueue {queue.name} does not select namespace {namespace}"
        return Wait(Reason.NAMESPACE_NOT_SELECTED, text)
    used_up = snapshot.budgets.closing(snapshot.tree, queue.name)
    return queue if used_up is None else Wait(Reason.BUDGET_EXHAUSTED, used_up.sentence)


def tree_fault(tree: QuotaTree, name: str, flavors: Container[str]) -> str | None:
    """Say why the part of the tree in which the queue is cannot be used; None: it can."""
    fault = tree.faults.get(name)
    if fault is not None:
        return f"ClusterQueue {name}: {fault}"
    for one in tree.path(name):
        for flavor in tree.flavors(one):
            if flavor not in flavors:
                return f"ClusterQueue {one} names ResourceFlavor {flavor}, which does not exist or is invalid"
    return None


def _takes_no_pods(snapshot: Snapshot, queue: ClusterQueue) -> str | None:
    children = snapshot.tree.children(queue.name)
    if children:
        return f"ClusterQueue {queue.name} takes no pods itself: use one of the queues below it ({first_few(children)})"
    if not queue.flavors:
        return f"ClusterQueue {queue.name} has no flavors, so it can give nothing"
    return any_fault(queue, snapshot.flavors)


def any_fault(queue: ClusterQueue, flavors: Mapping[str, Flavor]) -> str | None:
    """Say why a queue whose flavors are all open cannot be used with these; None: it can, or is no such queue."""
    if queue.flavor_mode is not FlavorMode.ANY or any(quota.flavor not in flavors for quota in queue.flavors):
        return None
    fault = fault_of([flavors[quota.flavor] for quota in queue.flavors])
    return None if fault is None else f"ClusterQueue {queue.name} has flavorMode Any: {fault}"
