"""Who goes before a workload that would borrow, though it comes later: who would take that back in the same decision.

By the order alone an older borrower would be admitted, and somebody evicted for the owner of the quota who stands
behind it, where nobody has to go if the owner comes first.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from controller.core.decision.placing import Placing
from controller.core.fitting.placement import Placements, place
from controller.core.kubernetes.amounts import Requests
from controller.core.ledgers.ledger import Ledger
from controller.core.preemption.preempting import Preempting
from controller.core.queueing.queues import ClusterQueue, Flavor
from controller.core.quota.quota_tree import Column
from controller.core.snapshot import Snapshot
from controller.core.turns.heads import Head, Heads
from controller.core.workloads.decisions import Wait
from controller.core.workloads.workload import Workload, WorkloadClass

Line = tuple[ClusterQueue, list[Head]]
"""A cluster queue and the heads of its classes, the first of them first."""
Spent = tuple[Flavor, Requests, str | None, tuple[Flavor, ...]]
"""What one pod takes: its flavor, how much, its node, and the flavors that hold quota for it too."""

RunOf = Callable[[WorkloadClass], Sequence[Workload]]
"""Says in which order the workloads of a class stand."""

_NOBODY: Final[Sequence[str]] = ()


class Owners:
    """Those of one decision. Where shares decide, who borrows nothing goes first anyway."""

    def __init__(
        self,
        snapshot: Snapshot,
        ledger: Ledger,
        placing: Placing,
        preempting: Preempting,
        heads: Heads,
        lines: Mapping[str, Line],
    ) -> None:
        self._snapshot = snapshot
        self._tree = snapshot.queues.tree
        self._ledger = ledger
        self._placing = placing
        self._preempting = preempting
        self._heads = heads
        self._lines = lines
        self._in: dict[str, list[str]] = {}
        """By root the queues in line for which others may be preempted."""

    def line_up(self, queue: ClusterQueue) -> None:
        """Take in that workloads of a queue are looked at."""
        if queue.preemption.is_any and queue.parent and not self._tree.strategies(queue.name):
            known = self._in.setdefault(self._tree.path(queue.name)[-1], [])
            if queue.name not in known:
                known.append(queue.name)

    def others_waiting(self, name: str) -> Sequence[str]:
        """Return the other queues of a tree in which such workloads wait whose turn has not come."""
        known = self._in.get(self._tree.path(name)[-1])
        return _NOBODY if known is None else [one for one in known if one != name and self._lines[one][1]]

    def first(self, name: str, kind: WorkloadClass, found: Placements, run_of: RunOf) -> str:
        """Return the queue whose head goes now: that of a workload of this class that goes there, or one beside it."""
        queue, spent = self._lines[name][0], _spent(kind, found)
        borrowed = self._borrowed(queue, _demand(kind, found))
        if not borrowed:
            return name
        for other in sorted(self.others_waiting(name), key=lambda one: self._heads.turn(one, self._lines[one][1][0])):
            owner, heads = self._lines[other]
            *_, index, its = heads[0]
            if its.hold is not None or not self._is_in_its_way(owner, its, borrowed, spent):
                continue
            if self._would_take_back(owner, run_of(its)[index], queue, spent):
                return other
        return name

    def lasts(self, queue: ClusterQueue, flavor: Flavor, requests: Requests) -> int:
        """Return how many more of these may go before others beside it have to be asked: those within what it owns."""
        if not self.others_waiting(queue.name):
            return sys.maxsize
        usage, counts = self._ledger.usage, list[int]()
        for resource, need in requests:
            column = (flavor.name, resource)
            if self._tree.cell(queue.name, column) is not None:
                counts.append(max(0, -usage.beyond(queue.name, column)) // need)
        return min(counts, default=0)

    def _borrowed(self, queue: ClusterQueue, demand: Mapping[Column, int]) -> dict[Column, int]:
        """Return what a queue takes of those columns of which it borrows then."""
        level = self._ledger.borrowing_level
        return {one: need for one, need in demand.items() if level(queue, one[0], ((one[1], need),))}

    def _is_in_its_way(
        self, owner: ClusterQueue, kind: WorkloadClass, borrowed: Mapping[Column, int], spent: Sequence[Spent]
    ) -> bool:
        """Whether there may be too little for the owner of what is borrowed, told by less than to place it."""
        asked = dict(kind.requests)
        for (flavor, resource), amount in borrowed.items():
            if resource not in asked or all(one.flavor != flavor for one in owner.flavors):
                continue
            left = [self._ledger.left("sum", flavor, resource)]
            if self._tree.cell(owner.name, (flavor, resource)) is not None:
                left.append(self._ledger.usage.available(owner.name, (flavor, resource)).amount)
            if min(left) - amount < asked[resource]:
                return True
        nodes = {node for _, _, node, _ in spent if node is not None}
        flavors = {one[0] for one in borrowed if one[1] in asked} & {one.flavor for one in owner.flavors}
        return bool(nodes) and any(self._has_no_other(name, kind, nodes) for name in flavors)

    def _has_no_other(self, name: str, kind: WorkloadClass, nodes: set[str]) -> bool:
        """Whether it is not known that a class has room on other nodes of a flavor than these."""
        flavor = self._snapshot.queues.flavors[name]
        if flavor.is_summed or not kind.is_free:
            return not flavor.is_summed
        node = self._ledger.emptiest_node(flavor, kind.pod_sets[0].shape)
        return node is None or node in nodes

    def _would_take_back(
        self, owner: ClusterQueue, workload: Workload, queue: ClusterQueue, spent: Sequence[Spent]
    ) -> bool:
        """Whether an owner has quota of its own, and room, now, and others would be evicted for it if it had not."""
        kind = workload.kind
        now = self._placing.find(owner, workload)
        if isinstance(now, Wait) or self._borrowed(owner, _demand(kind, now)):
            return False
        with self._ledger.trying():
            for flavor, requests, node, also in spent:
                self._ledger.spend(queue.name, flavor, requests, node, also)
            then = place(self._snapshot, self._ledger, owner, kind)
            for flavor, requests, node, also in spent:
                self._ledger.give_back(queue.name, flavor, requests, node, also)
        if not isinstance(then, Wait):
            return False
        fork = self._ledger.fork()
        for flavor, requests, node, also in spent:
            fork.spend(queue.name, flavor, requests, node, also)
        return self._preempting.would_evict(owner, workload, then, fork)


def _spent(kind: WorkloadClass, found: Placements) -> list[Spent]:
    shapes = [one.shape for one in kind.pod_sets for _ in range(one.count)]
    return [(one.flavor, shape.requests, one.node, tuple(one.also)) for shape, one in zip(shapes, found, strict=True)]


def _demand(kind: WorkloadClass, found: Placements) -> dict[Column, int]:
    """Return what a workload takes of each column where it was placed."""
    amounts: dict[Column, int] = {}
    for flavor, requests, _, also in _spent(kind, found):
        for one in (flavor, *also):
            for resource, need in requests:
                amounts[one.name, resource] = amounts.get((one.name, resource), 0) + need
    return amounts
