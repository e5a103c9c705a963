"""The door to a cluster queue: from a local queue to where its workloads stand in line, or why they do not."""

from __future__ import annotations

from controller.core.decisions import Wait
from controller.core.queues import ClusterQueue, StopPolicy
from controller.core.reasons import Reason
from controller.core.snapshot import Snapshot
from controller.core.workloads import QueueKey

_NAMED_MOST = 5


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
            return Wait(Reason.QUEUE_INVALID, fault)
        return Wait(Reason.QUEUE_NOT_FOUND, f"ClusterQueue {local.cluster_queue} of LocalQueue {name} does not exist")
    if local.stop is not StopPolicy.NONE:
        return Wait(Reason.QUEUE_STOPPED, f"LocalQueue {name} has stopPolicy {local.stop}")
    return _enter(snapshot, queue, namespace)


def _enter(snapshot: Snapshot, queue: ClusterQueue, namespace: str) -> ClusterQueue | Wait:
    fault = tree_fault(snapshot, queue)
    if fault is not None:
        return Wait(Reason.QUEUE_INVALID, fault)
    for name in snapshot.tree.path(queue.name):
        stop = snapshot.cluster_queues[name].stop
        if stop is not StopPolicy.NONE:
            return Wait(Reason.QUEUE_STOPPED, f"ClusterQueue {name} has stopPolicy {stop}")
    labels = snapshot.namespaces.get(namespace)
    if labels is None:
        return Wait(Reason.PENDING, f"namespace {namespace} is not known yet")
    if queue.namespaces is None or not queue.namespaces.matches(labels):
        text = f"the namespaceSelector of ClusterQueue {queue.name} does not select namespace {namespace}"
        return Wait(Reason.NAMESPACE_NOT_SELECTED, text)
    return queue


def tree_fault(snapshot: Snapshot, queue: ClusterQueue) -> str | None:
    """Say why the queue's part of the tree admits nothing, or why the queue itself takes no pods; None: it does."""
    fault = snapshot.tree.faults.get(queue.name)
    if fault is not None:
        return f"ClusterQueue {queue.name}: {fault}"
    children = snapshot.tree.children(queue.name)
    if children:
        some = f"{', '.join(children[:_NAMED_MOST])}{', …' if len(children) > _NAMED_MOST else ''}"
        return f"ClusterQueue {queue.name} has children ({some}) and takes no pods itself; lead to one of those"
    for name in snapshot.tree.path(queue.name):
        for quota in snapshot.cluster_queues[name].flavors:
            if quota.flavor not in snapshot.flavors:
                return f"ClusterQueue {name} names ResourceFlavor {quota.flavor}, which does not exist or is invalid"
    if not queue.flavors:
        return f"ClusterQueue {queue.name} has no flavors: nothing can be given"
    return None
