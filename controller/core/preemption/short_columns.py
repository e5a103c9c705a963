"""Of which flavors and resources a workload that preempts has too little: all that a search for victims looks at.

Mirrors `frsNeedPreemption` of Kueue, beyond quota: who uses or borrows only what is not short is in nobody's way.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from controller.core.candidates.candidate import Candidate, uses
from controller.core.fitting.mixing import mix_blocker
from controller.core.fitting.unlike_sets import Onto
from controller.core.kubernetes.amounts import Requests
from controller.core.ledgers.booked import AnyLedger
from controller.core.ledgers.simulation import Simulation
from controller.core.queueing.queues import ClusterQueue
from controller.core.quota.quota_tree import Column
from controller.core.snapshot import Snapshot
from controller.core.workloads.workload import WorkloadClass


@dataclass(frozen=True, slots=True)
class Short:
    """What a workload lacks that is to go onto some flavors.

    `columns` are those of which who uses and borrows anything may be in its way. `own` are those of which it is asked
    whether the workload stays within what its queue owns. `quota` are those that are short wherever they are used:
    quotas, limits and sums; what is asked for in `on_nodes`, by flavor, is short only on nodes that have too little.
    """

    columns: tuple[Column, ...]
    own: frozenset[Column]
    quota: frozenset[Column] = frozenset()
    on_nodes: dict[str, dict[str, int]] = field(default_factory=dict, hash=False)


class ShortColumns:
    """Those of one decision."""

    def __init__(self, snapshot: Snapshot, simulation: Simulation) -> None:
        self._snapshot = snapshot
        self._simulation = simulation

    def of(self, simulated: AnyLedger, queue: ClusterQueue, kind: WorkloadClass, onto: Onto) -> Short:
        """Return what is short of what is left `simulated`; all that is asked for, where it is something else.

        Where shares decide, and quota is short, that alone: `with_room` tells the rest.
        """
        demand = demand_of(kind, onto)
        quota = {*self._of_quota(simulated, queue, demand), *self._of_sums(simulated, demand)}
        if any(self._is_short_by_mix(simulated, queue, kind, onto)):
            return Short(tuple(demand), frozenset(demand))
        if quota and self._snapshot.queues.tree.strategies(queue.name):
            return Short(tuple(one for one in demand if one in quota), frozenset(quota), frozenset(quota))
        crowded = self._without_room(simulated, kind, onto, is_certain=not quota)
        columns = tuple(one for one in demand if one in quota or one[0] in crowded) or tuple(demand)
        if self._snapshot.queues.tree.strategies(queue.name):
            return Short(columns, frozenset(columns))
        own = {*quota, *(one for one in self._scarce(simulated, kind, onto) if one[0] in crowded)} or columns
        return Short(columns, frozenset(own), frozenset(quota), self._asked_of_nodes(kind, onto, crowded))

    def with_room(
        self, simulated: AnyLedger, queue: ClusterQueue, kind: WorkloadClass, onto: Onto, short: Short
    ) -> Short | None:
        """Return what is short where shares decide, if it is more than quota: room on nodes too; None: it is not.

        Asked where those who use what quota is short of (`short`, as `of` has it) are too few. By shares it has to stay
        within what its queue owns of all of that, or else to have the smaller share.
        """
        if not short.quota or not self._snapshot.queues.tree.strategies(queue.name):
            return None
        crowded = self._without_room(simulated, kind, onto, is_certain=False)
        demand = demand_of(kind, onto)
        columns = tuple(one for one in demand if one in short.quota or one[0] in crowded)
        return Short(columns, frozenset(columns)) if len(columns) > len(short.columns) else None

    def is_in_the_way(self, simulated: AnyLedger, queue: str, short: Short, one: Candidate) -> bool:
        """Say whether a candidate has, and has borrowed if it is of another queue, what is short where it is."""
        if not short.on_nodes or one.is_going:
            return True
        if uses(one, short.quota) and self._gives(simulated, queue, short.quota, one):
            return True
        ledger = self._simulation.base(simulated)
        for node, held in self._simulation.on_nodes(one):
            flavor = self._snapshot.nodes.index.flavor_of.get(node, "")
            asked = short.on_nodes.get(flavor)
            if asked is None:
                continue
            lacks = {name for name, need in asked.items() if ledger.left("node", node, name) < need}
            columns = frozenset((flavor, name) for name in lacks)
            if any(name in lacks for name, _ in held) and self._gives(simulated, queue, columns, one):
                return True
        return False

    def _gives(self, simulated: AnyLedger, queue: str, columns: frozenset[Column], one: Candidate) -> bool:
        return one.queue == queue or simulated.usage.borrows(one.queue, columns)

    def _of_quota(self, simulated: AnyLedger, queue: ClusterQueue, demand: dict[Column, int]) -> Iterator[Column]:
        """Yield those of which quota is too little, or a limit over all flavors leaves too little."""
        tree, usage = self._snapshot.queues.tree, simulated.usage
        total: dict[str, int] = {}
        for column, need in demand.items():
            total[column[1]] = total.get(column[1], 0) + need
        limits = [
            (name, resource, most) for name in tree.path(queue.name) for resource, most in tree.limits(name).items()
        ]
        limited = {one for name, one, most in limits if usage.used(name, "", one) + total.get(one, 0) > most}
        for column, need in demand.items():
            is_counted = tree.cell(queue.name, column) is not None
            if column[1] in limited or (is_counted and usage.available(queue.name, column).amount < need):
                yield column

    def _of_sums(self, simulated: AnyLedger, demand: dict[Column, int]) -> Iterator[Column]:
        ledger = self._simulation.base(simulated)
        for column, need in demand.items():
            flavor = self._snapshot.queues.flavors[column[0]]
            if flavor.is_summed and column[1] in flavor.sums and ledger.left("sum", flavor.name, column[1]) < need:
                yield column

    def _is_short_by_mix(
        self, simulated: AnyLedger, queue: ClusterQueue, kind: WorkloadClass, onto: Onto
    ) -> Iterator[bool]:
        for one, name in zip(kind.pod_sets, onto, strict=True):
            flavor, whole = self._snapshot.queues.flavors[name], self._snapshot.queues.cluster_queues[queue.name]
            yield mix_blocker(self._snapshot.queues.flavors, simulated, whole, flavor, one.count) is not None

    def _without_room(self, simulated: AnyLedger, kind: WorkloadClass, onto: Onto, *, is_certain: bool) -> set[str]:
        """Return the flavors on whose nodes there is too little room now.

        `is_certain`: nothing else can be in the way of who goes onto a single one. Where pods have to stand together,
        it rests on more than what is free.
        """
        flavors = [self._snapshot.queues.flavors[name] for name in onto]
        on_nodes = {one.name for one in flavors if not one.is_summed}
        if kind.topology is not None or any(one.slices is not None for one in kind.pod_sets):
            return on_nodes
        if is_certain and len({*onto}) == 1:
            return on_nodes
        found, taken = set[str](), list[tuple[str, Requests]]()
        for one, flavor in zip(kind.pod_sets, flavors, strict=True):
            nodes = [] if flavor.is_summed else simulated.find_nodes(flavor, one.shape, one.count)
            if len(nodes) < one.count and not flavor.is_summed:
                found.add(flavor.name)
            for node in nodes:
                simulated.occupy(node, one.shape.requests)
                taken.append((node, one.shape.requests))
        for node, requests in taken:
            simulated.occupy(node, tuple([(resource, -need) for resource, need in requests]))
        return found or (on_nodes if is_certain else found)

    def _scarce(self, simulated: AnyLedger, kind: WorkloadClass, onto: Onto) -> Iterator[Column]:
        """Yield those of which not even the emptiest node has enough for one pod."""
        for one, name in zip(kind.pod_sets, onto, strict=True):
            flavor = self._snapshot.queues.flavors[name]
            for resource, need in () if flavor.is_summed else one.shape.requests:
                if simulated.most_free(flavor, one.shape, resource) < need:
                    yield name, resource

    def _asked_of_nodes(self, kind: WorkloadClass, onto: Onto, flavors: set[str]) -> dict[str, dict[str, int]]:
        """Return what is asked of the nodes of these flavors; empty: it rests on more than what is free there."""
        if kind.topology is not None or any(one.slices is not None for one in kind.pod_sets):
            return {}
        found: dict[str, dict[str, int]] = {}
        for one, name in zip(kind.pod_sets, onto, strict=True):
            if name in flavors:
                asked = found.setdefault(name, {})
                for resource, need in one.requests:
                    asked[resource] = asked.get(resource, 0) + need
        return found


def demand_of(kind: WorkloadClass, onto: Onto) -> dict[Column, int]:
    """Return what a workload takes of each column, its sets going onto these flavors."""
    found: dict[Column, int] = {}
    for one, flavor in zip(kind.pod_sets, onto, strict=True):
        for resource, need in one.requests:
            found[flavor, resource] = found.get((flavor, resource), 0) + need
    return found
