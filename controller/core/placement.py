"""Which flavor of a cluster queue takes a workload, and on which node there is room for it."""

from __future__ import annotations

from dataclasses import dataclass

from controller.core.amounts import PODS
from controller.core.decisions import Blocker, Later, Wait
from controller.core.ledger import Ledger
from controller.core.narrowing import Conflict, narrow
from controller.core.queues import CapacityMode, ClusterQueue, Flavor, FlavorQuota, WhenCanBorrow
from controller.core.reasons import Reason
from controller.core.shapes import Shape
from controller.core.snapshot import Snapshot
from controller.core.workloads import WorkloadClass

_MILDEST_FIRST = (Reason.NO_CAPACITY, Reason.QUOTA_EXCEEDED, Reason.PARENT_QUEUE_LIMIT, Reason.NEVER_FITS)
"""Of several flavors' findings the one that got furthest names the wait: it is what will let the workload in."""


@dataclass(frozen=True, slots=True)
class Placement:
    """A flavor with quota and room, and the node where room was found (None for a sum)."""

    flavor: Flavor
    node: str | None


def place(
    snapshot: Snapshot, ledger: Ledger, queue: ClusterQueue, kind: WorkloadClass, *, only_freed: bool
) -> Placement | Wait:
    """Try the queue's flavors in order; the first with quota and room wins, or the first of those that borrow least.

    Who can run in a flavor, now or later, waits its `fallback_after` before those behind it are looked at.
    `only_freed` looks for room on the nodes in `snapshot.freed` alone, the others being known to have none; a Wait it
    returns carries no arithmetic, since the earlier one stands.
    """
    shape = kind.shape
    limit = ledger.limit_blocker(queue, shape)
    if limit is not None:
        return Wait(limit.reason, blockers=(limit,))
    blockers: list[Blocker] = []
    placements: list[tuple[int, Placement]] = []
    must_wait = 0
    later: Later | None = None
    for quota in queue.flavors:
        if kind.waited < must_wait:
            later = Later(quota.flavor, must_wait)
            break
        found = _try(snapshot, ledger, queue, quota, shape, only_freed=only_freed)
        if isinstance(found, Blocker):
            blockers.append(found)
            if quota.fallback_after and not _never(snapshot, found, shape):
                must_wait = max(must_wait, quota.fallback_after)
            continue
        must_wait = max(must_wait, quota.fallback_after)
        if queue.when_can_borrow is WhenCanBorrow.MAY_STOP_SEARCH:
            return found
        placements.append((ledger.borrowing_level(queue, found.flavor.name, shape), found))
        if not placements[-1][0]:
            break
    if placements:
        return min(placements, key=lambda one: one[0])[1]
    reason = min((blocker.reason for blocker in blockers), key=_MILDEST_FIRST.index)
    return Wait(reason, blockers=tuple(blockers), later=later)


def _try(
    snapshot: Snapshot, ledger: Ledger, queue: ClusterQueue, quota: FlavorQuota, shape: Shape, *, only_freed: bool
) -> Placement | Blocker:
    """Try one flavor. What could never run there is told before quota: no waiting would change it."""
    flavor = snapshot.flavors[quota.flavor]
    held = narrow(shape.constraints, flavor)
    if isinstance(held, Conflict):
        return Blocker(flavor.name, Reason.NEVER_FITS, detail=held.text)
    blocker = ledger.quota_blocker(queue, quota, shape)
    return blocker or _find_room(snapshot, ledger, flavor, shape, only_freed=only_freed)


def _find_room(
    snapshot: Snapshot, ledger: Ledger, flavor: Flavor, shape: Shape, *, only_freed: bool
) -> Placement | Blocker:
    if flavor.mode is CapacityMode.STATIC:
        return ledger.static_blocker(flavor, shape) or Placement(flavor, None)
    node = ledger.find_node(flavor, shape, only_freed=only_freed)
    if node is not None:
        return Placement(flavor, node)
    if only_freed:
        return Blocker(flavor.name, Reason.NO_CAPACITY)
    return _no_node(snapshot, ledger, flavor, shape)


def _never(snapshot: Snapshot, found: Blocker, shape: Shape) -> bool:
    """Say whether no waiting would help; where freed nodes alone were looked at, the finding does not say it."""
    if found.reason is Reason.NO_CAPACITY:
        flavor = snapshot.flavors[found.flavor]
        unfit = _unfit(snapshot, flavor, shape) if flavor.mode is CapacityMode.NODES else None
        return unfit is not None and unfit.reason is Reason.NEVER_FITS
    return found.reason is Reason.NEVER_FITS


def _no_node(snapshot: Snapshot, ledger: Ledger, flavor: Flavor, shape: Shape) -> Blocker:
    """Say why no node has room: none matches, none is large enough, or all are taken for now."""
    return _unfit(snapshot, flavor, shape) or _tightest(ledger, flavor, shape)


def _unfit(snapshot: Snapshot, flavor: Flavor, shape: Shape) -> Blocker | None:
    """Say why no node would do even if nothing ran there; None where one would."""
    index = snapshot.nodes
    if not index.allowed(flavor, shape.constraints):
        usable = len(index.usable(flavor.name))
        detail = f"none of its {usable} ready nodes matches the pod's node selector, affinity and tolerations"
        return Blocker(flavor.name, Reason.NEVER_FITS if usable else Reason.NO_CAPACITY, detail=detail)
    for resource, need in shape.requests:
        largest = index.largest(flavor, shape.constraints, resource)
        if need > largest:
            return Blocker(flavor.name, Reason.NEVER_FITS, resource, need, largest, "more than its largest node has")
    return None


def _tightest(ledger: Ledger, flavor: Flavor, shape: Shape) -> Blocker:
    """Name the resource that the fullest-handed node lacks, `pods` last: it is rarely the real shortage."""
    for resource, need in sorted(shape.requests, key=lambda pair: pair[0] == PODS):
        best = ledger.most_free(flavor, shape, resource)
        if need > best:
            return Blocker(flavor.name, Reason.NO_CAPACITY, resource, need, best, "free on its emptiest node")
    return Blocker(flavor.name, Reason.NO_CAPACITY, detail="no single node has all that the pod asks for")
