"""Needs of one pod: whether it lacks nothing but room on one node, and on which nodes that may be."""

from __future__ import annotations

from controller.core.ledgers.booked import AnyLedger
from controller.core.ledgers.simulation import Simulation
from controller.core.preemption.attempts import Need
from controller.core.preemption.one_node import OneNode
from controller.core.queueing.queues import ClusterQueue
from controller.core.snapshot import Snapshot
from controller.core.workloads.workload import WorkloadClass


class SinglePods:
    """Those of one decision."""

    def __init__(self, snapshot: Snapshot, simulation: Simulation) -> None:
        self._snapshot = snapshot
        self._tree = snapshot.queues.tree
        self._simulation = simulation

    def is_plain(self, simulated: AnyLedger, need: Need) -> bool:
        """Say whether it is one pod of which all is told by one flavor.

        By shares, whether it is short of nothing but room: who goes for quota is not told by nodes.
        """
        is_of_one_flavor = self.are_of_one_flavor(need.queue, need.kind, need.flavor)
        return is_of_one_flavor and (need.reclaimable is not None or not self.is_short(simulated, need))

    def are_of_one_flavor(self, queue: ClusterQueue, kind: WorkloadClass, flavor: str) -> bool:
        """Say whether each is one pod, and those of this flavor that go change nothing for it in others."""
        if not kind.requests or not kind.is_free or queue.mix is not None:
            return False
        if any(map(self._tree.limits, self._tree.path(queue.name))):
            return False
        return not self._snapshot.queues.flavors[flavor].is_summed

    def is_short(self, simulated: AnyLedger, need: Need) -> bool:
        """Say whether quota is short."""
        quota = next(one for one in need.queue.flavors if one.flavor == need.flavor)
        return simulated.quota_blocker(need.queue, quota, need.kind.requests) is not None

    def nodes(self, simulated: AnyLedger, need: Need) -> OneNode:
        """Return where there may come to be room."""
        flavor, shape = self._snapshot.queues.flavors[need.flavor], need.kind.pod_sets[0].shape
        return OneNode(self._snapshot, self._simulation, simulated, flavor, shape)
