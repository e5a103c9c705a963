"""Whether a workload takes part in a decision: its LocalQueue leads to a ClusterQueue that admits, or why not."""

from __future__ import annotations

from collections.abc import Container, Mapping

from controller.core.decision.waits import Waits
from controller.core.queueing.flavor_sets import fault_of
from controller.core.queueing.operator_actions import aside
from controller.core.queueing.queues import ClusterQueue, Flavor, FlavorMode, QueueingStrategy, StopPolicy
from controller.core.quota.quota_tree import QuotaTree
from controller.core.reasons import Reason, first_few
from controller.core.snapshot import Snapshot
from controller.core.workloads.decisions import Wait
from controller.core.workloads.workload import Hold, QueueKey, WorkloadClass


class AdmissionChecks:
    """Those of one decision, made once for each LocalQueue. They tell the reason of each class that takes no part."""

    def __init__(self, snapshot: Snapshot, waits: Waits, closed: dict[str, Wait | None] | None = None) -> None:
        """`closed` has what is known of cluster queues by now (`closed_queue`), and is added to."""
        self._snapshot = snapshot
        self._waits = waits
        self._closed = {} if closed is None else closed
        self._known: dict[QueueKey, ClusterQueue | Wait] = {}

    def of(self, key: QueueKey) -> ClusterQueue | Wait:
        """Return the cluster queue of a local queue, or why it admits nobody."""
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = admitting_queue(self._snapshot, key, self._closed)
        return found

    def enter(self, kind: WorkloadClass) -> ClusterQueue | None:
        """Return the cluster queue of a class; None where the class takes no part."""
        found = self.of(kind.queue)
        is_strict = not isinstance(found, Wait) and found.strategy is QueueingStrategy.STRICT_FIFO
        # a refused release is tried again within a minute, and keeps its place in a strict queue until then
        if kind.hold is not None and not (is_strict and kind.hold.reason is Reason.PATCH_REJECTED):
            self._waits.tell(kind, held(kind.hold))
            return None
        if isinstance(found, Wait):
            self._waits.tell(kind, found)
            return None
        return found


def held(hold: Hold) -> Wait:
    """Return why a class waits that is held."""
    return Wait(hold.reason, hold.text)


def admitting_queue(
    snapshot: Snapshot, key: QueueKey, closed: dict[str, Wait | None] | None = None
) -> ClusterQueue | Wait:
    """Follow a local queue to its cluster queue; a Wait says why its workloads are not looked at.

    `closed` is as `AdmissionChecks` has it.
    """
    namespace, name = key
    local = snapshot.queues.local_queues.get(key)
    if local is None:
        text = f"LocalQueue {name} does not exist in namespace {namespace}" if name else "the pod names no queue"
        return Wait(Reason.QUEUE_NOT_FOUND, text)
    queue = snapshot.queues.cluster_queues.get(local.cluster_queue)
    if queue is None:
        fault = snapshot.queues.faulty.get(local.cluster_queue)
        if fault is not None:
            text = f"ClusterQueue {local.cluster_queue} cannot be used as written: {fault}"
            return Wait(Reason.QUEUE_INVALID, text)
        return Wait(Reason.QUEUE_NOT_FOUND, f"ClusterQueue {local.cluster_queue} of LocalQueue {name} does not exist")
    if local.stop is not StopPolicy.NONE:
        return Wait(Reason.QUEUE_STOPPED, f"LocalQueue {name} has stopPolicy {local.stop}{aside(local.stop_note)}")
    known = {} if closed is None else closed
    if queue.name not in known:
        known[queue.name] = closed_queue(snapshot, queue)
    return known[queue.name] or _enter(snapshot, queue, namespace)


def closed_queue(snapshot: Snapshot, queue: ClusterQueue) -> Wait | None:
    """Return why a cluster queue admits nobody, by the cluster queues and flavors alone; None: that is not why."""
    fault = tree_fault(snapshot.queues.tree, queue.name, snapshot.queues.flavors) or _takes_no_pods(snapshot, queue)
    if fault is not None:
        return Wait(Reason.QUEUE_INVALID, fault)
    for name in snapshot.queues.tree.path(queue.name):
        above = snapshot.queues.cluster_queues[name]
        if above.stop is not StopPolicy.NONE:
            text = f"ClusterQueue {name} has stopPolicy {above.stop}{aside(above.stop_note)}"
            return Wait(Reason.QUEUE_STOPPED, text)
    return None


def _enter(snapshot: Snapshot, queue: ClusterQueue, namespace: str) -> ClusterQueue | Wait:
    labels = snapshot.queues.namespaces.get(namespace)
    if labels is None:
        return Wait(Reason.PENDING, f"namespace {namespace} is not known yet")
    if queue.namespaces is None or not queue.namespaces.matches(labels):
        text = f"the namespaceSelector of ClusterQueue {queue.name} does not select namespace {namespace}"
        return Wait(Reason.NAMESPACE_NOT_SELECTED, text)
    used_up = snapshot.usage.budgets.closing(snapshot.queues.tree, queue.name)
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
    children = snapshot.queues.tree.children(queue.name)
    if children:
        return f"ClusterQueue {queue.name} takes no pods itself: use one of the queues below it ({first_few(children)})"
    if not queue.flavors:
        return f"ClusterQueue {queue.name} has no flavors, so it can give nothing"
    return any_fault(queue, snapshot.queues.flavors)


def any_fault(queue: ClusterQueue, flavors: Mapping[str, Flavor]) -> str | None:
    """Say why a queue whose flavors are all open cannot be used with these; None: it can, or is no such queue."""
    if queue.flavor_mode is not FlavorMode.ANY or any(quota.flavor not in flavors for quota in queue.flavors):
        return None
    fault = fault_of([flavors[quota.flavor] for quota in queue.flavors])
    return None if fault is None else f"ClusterQueue {queue.name} has flavorMode Any: {fault}"
