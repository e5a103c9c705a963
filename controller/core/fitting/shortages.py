"""Why no node, or too few nodes, have room: none matches, none is large enough, or all are taken for now."""

from __future__ import annotations

from controller.core.kubernetes.amounts import PODS
from controller.core.ledgers.booked import AnyLedger
from controller.core.queueing.queues import Flavor
from controller.core.reasons import Reason
from controller.core.snapshot import Snapshot
from controller.core.workloads.decisions import Blocker
from controller.core.workloads.shapes import Shape
from controller.core.workloads.workload import PodSet


def no_node(snapshot: Snapshot, ledger: AnyLedger, flavor: Flavor, shape: Shape) -> Blocker:
    """Say why no node has room for one pod of this shape."""
    return unfit_nodes(snapshot, flavor, shape) or _tightest(ledger, flavor, shape)


def too_few_nodes(snapshot: Snapshot, ledger: AnyLedger, flavor: Flavor, pod_set: PodSet, *, found: int) -> Blocker:
    """Say why there is room for only `found` of the pods of a set."""
    unfit = unfit_for_all(snapshot, flavor, pod_set)
    if unfit is not None:
        return unfit
    if not found:
        return _tightest(ledger, flavor, pod_set.shape)
    now = f"room for {found} of the {pod_set.count} pods now"
    return Blocker(flavor.name, Reason.NO_CAPACITY, detail=f"no room for all {pod_set.count} pods", now=now)


def unfit_for_all(snapshot: Snapshot, flavor: Flavor, pod_set: PodSet) -> Blocker | None:
    """Say why the nodes would not do for all pods of a set even if nothing ran there; None where they would."""
    shape, count = pod_set.shape, pod_set.count
    unfit = unfit_nodes(snapshot, flavor, shape)
    most = snapshot.nodes.index.most(flavor, shape) if unfit is None and count > 1 else count
    if most >= count:
        return unfit
    detail = f"its nodes hold at most {most} of the {count} pods, even when nothing else runs there"
    return Blocker(flavor.name, Reason.NEVER_FITS, detail=detail)


def unfit_nodes(snapshot: Snapshot, flavor: Flavor, shape: Shape) -> Blocker | None:
    """Say why no node would do even if nothing ran there; None where one would."""
    index = snapshot.nodes.index
    if not index.allowed(flavor, shape.constraints):
        usable = len(index.usable(flavor.name))
        detail = f"none of its {usable} ready nodes matches the pod's node selector, affinity and tolerations"
        detail = detail if usable else _without_nodes(snapshot, flavor)
        reason = Reason.NEVER_FITS if usable else Reason.NO_CAPACITY
        return Blocker(flavor.name, reason, detail=detail)
    for resource, need in shape.requests:
        largest = index.largest(flavor, shape.constraints, resource)
        if need > largest:
            detail = "more than its largest node has"
            return Blocker(flavor.name, Reason.NEVER_FITS, resource, need, largest, detail)
    return None


def _without_nodes(snapshot: Snapshot, flavor: Flavor) -> str:
    """Say why a flavor has no node that pods may go to."""
    members = len(snapshot.nodes.index.members(flavor.name))
    if members:
        return f"none of its {members} nodes is ready and takes pods"
    taken = snapshot.nodes.index.taken.get(flavor.name)
    if not taken:
        return "no node is of this flavor"
    others = ", ".join(sorted(taken))
    count = taken.total()
    nodes = f"all {count} nodes that it selects belong" if count > 1 else "the node that it selects belongs"
    return f"{nodes} to other flavors, which say more about it or come first ({others})"


def _tightest(ledger: AnyLedger, flavor: Flavor, shape: Shape) -> Blocker:
    """Name the resource that the fullest-handed node lacks, `pods` last: it is rarely the real shortage."""
    for is_pods in (False, True):
        for resource, need in shape.requests:
            if (resource == PODS) is is_pods and need > (best := ledger.most_free(flavor, shape, resource)):
                return Blocker(flavor.name, Reason.NO_CAPACITY, resource, need, best, "free on its emptiest node")
    return Blocker(flavor.name, Reason.NO_CAPACITY, detail="no single node has all that the pod asks for")
