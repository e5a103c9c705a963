"""What the head of a line would take: of which columns, on which nodes. For trees that share fairly (`fair_turns`)."""

from __future__ import annotations

from collections import Counter

from controller.core.fair_turns import Nominee, Takes, Turn
from controller.core.placement import Placements
from controller.core.queues import ClusterQueue, WhenCanBorrow
from controller.core.quota_tree import Column, QuotaTree
from controller.core.workloads import WorkloadClass


def taken_by(kind: WorkloadClass, placed: Placements) -> Takes:
    """Return what a workload takes where it was placed."""
    amounts: Counter[Column] = Counter()
    shapes = [one.shape for one in kind.pod_sets for _ in range(one.count)]
    for shape, one in zip(shapes, placed, strict=True):
        amounts.update({(one.flavor.name, resource): need for resource, need in shape.requests})
    return Takes(
        dict(amounts),
        frozenset(one.node for one in placed if one.node is not None),
        frozenset(one.flavor.name for one in placed if one.flavor.is_summed),
    )


def placed_head(tree: QuotaTree, queue: ClusterQueue, turn: Turn, kind: WorkloadClass, placed: Placements) -> Nominee:
    """Return a head for which there is quota and room."""
    is_limited = any(tree.limits(name) or tree.user_limits(name) for name in tree.path(queue.name))
    may_move = queue.when_can_borrow is WhenCanBorrow.TRY_NEXT_FLAVOR and len(queue.flavors) > 1
    return Nominee(turn, taken_by(kind, placed), is_touchy=is_limited or may_move)


def preempting_head(turn: Turn, kind: WorkloadClass, *, flavor: str) -> Nominee:
    """Return a head for which others would go, in this flavor."""
    return Nominee(turn, Takes({(flavor, resource): need for resource, need in kind.requests}), preempts=True)
