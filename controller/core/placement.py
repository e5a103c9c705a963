"""Which flavor of a cluster queue takes a workload, and on which node there is room for it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from controller.core.amounts import PODS
from controller.core.decisions import Blocker, Wait
from controller.core.ledger import Ledger
from controller.core.narrowing import Conflict, narrow
from controller.core.queues import CapacityMode, ClusterQueue, Flavor, FlavorQuota, WhenCanBorrow
from controller.core.reasons import Reason
from controller.core.shapes import Shape
from controller.core.snapshot import Snapshot

_MILDEST_FIRST = (Reason.NO_CAPACITY, Reason.QUOTA_EXCEEDED, Reason.PARENT_QUEUE_LIMIT, Reason.NEVER_FITS)
"""Of several flavors' findings the one that got furthest names the wait: it is what will let the workload in."""


@dataclass(frozen=True, slots=True)
class Placement:
    """A flavor with quota and room, and the node where room was found (None for a sum).

    `borrowing` is how far up the tree it has to borrow, 0: not at all.
    """

    flavor: Flavor
    node: str | None
    borrowing: int = 0


def place(
    snapshot: Snapshot, ledger: Ledger, queue: ClusterQueue, shape: Shape, *, only_freed: bool
) -> Placement | Wait:
    """Try the queue's flavors in order; the first with quota and room wins, or the first of those that borrow least.

    The placement's `borrowing` is the least that any flavor would need: within one decision that never falls, while
    that of the first flavor would, when the flavor fills up.

    `only_freed` looks for room on the nodes in `snapshot.freed` alone, the others being known to have none; a Wait it
    returns carries no arithmetic, since the earlier one stands.
    """
    limit = ledger.limit_blocker(queue, shape)
    if limit is not None:
        return Wait(limit.reason, blockers=(limit,))
    blockers: list[Blocker] = []
    placements: list[Placement] = []
    for quota in queue.flavors:
        found = _try(snapshot, ledger, queue, quota, shape, only_freed=only_freed)
        if isinstance(found, Blocker):
            blockers.append(found)
            continue
        placements.append(found)
        if not found.borrowing:
            break
    if placements:
        least = min(placements, key=lambda one: one.borrowing)
        first = least if queue.when_can_borrow is WhenCanBorrow.TRY_NEXT_FLAVOR else placements[0]
        return replace(first, borrowing=least.borrowing)
    reason = min((blocker.reason for blocker in blockers), key=_MILDEST_FIRST.index)
    return Wait(reason, blockers=tuple(blockers))


def _try(
    snapshot: Snapshot, ledger: Ledger, queue: ClusterQueue, quota: FlavorQuota, shape: Shape, *, only_freed: bool
) -> Placement | Blocker:
    """Try one flavor. What could never run there is told before quota: no waiting would change it."""
    flavor = snapshot.flavors[quota.flavor]
    held = narrow(shape.constraints, flavor)
    if isinstance(held, Conflict):
        return Blocker(flavor.name, Reason.NEVER_FITS, detail=held.text)
    blocker = ledger.quota_blocker(queue, quota, shape)
    if blocker is not None:
        return blocker
    found = _find_room(snapshot, ledger, flavor, shape, only_freed=only_freed)
    if isinstance(found, Blocker):
        return found
    borrowing = ledger.borrowing_level(queue, flavor.name, shape)
    return replace(found, borrowing=borrowing) if borrowing else found


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


def _no_node(snapshot: Snapshot, ledger: Ledger, flavor: Flavor, shape: Shape) -> Blocker:
    """Say why no node has room: none matches, none is large enough, or all are taken for now."""
    index = snapshot.nodes
    if not index.allowed(flavor, shape.constraints):
        usable = len(index.usable(flavor.name))
        detail = f"none of its {usable} ready nodes matches the pod's node selector, affinity and tolerations"
        return Blocker(flavor.name, Reason.NEVER_FITS if usable else Reason.NO_CAPACITY, detail=detail)
    for resource, need in shape.requests:
        largest = index.largest(flavor, shape.constraints, resource)
        if need > largest:
            return Blocker(flavor.name, Reason.NEVER_FITS, resource, need, largest, "more than its largest node has")
    return _tightest(ledger, flavor, shape)


def _tightest(ledger: Ledger, flavor: Flavor, shape: Shape) -> Blocker:
    """Name the resource that the fullest-handed node lacks, `pods` last: it is rarely the real shortage."""
    for resource, need in sorted(shape.requests, key=lambda pair: pair[0] == PODS):
        best = ledger.most_free(flavor, shape, resource)
        if need > best:
            return Blocker(flavor.name, Reason.NO_CAPACITY, resource, need, best, "free on its emptiest node")
    return Blocker(flavor.name, Reason.NO_CAPACITY, detail="no single node has all that the pod asks for")
