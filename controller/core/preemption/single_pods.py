"""Needs of one pod: whether it lacks nothing but room on one node, and on which nodes that may be."""

from __future__ import annotations

from controller.core.ledgers.away import Away
from controller.core.ledgers.booked import AnyLedger
from controller.core.ledgers.ledger import Ledger
from controller.core.ledgers.looked_at import LookedAt
from controller.core.preemption.attempts import Need
from controller.core.preemption.one_node import OneNode
from controller.core.queueing.queues import ClusterQueue
from controller.core.workloads.workload import WorkloadClass
from controller.core.world.snapshot import Snapshot


class SinglePods:
    """Those of one decision."""

    def __init__(self, snapshot: Snapshot, ledger: Ledger, away: Away, looked_at: LookedAt) -> None:
        """To those looked at for freed room other nodes than `snapshot.freed` were no use before, and are none now."""
        self._snapshot = snapshot
        self._tree = snapshot.tree
        self._ledger = ledger
        self._away = away
        self._look = looked_at

    def is_plain(self, ahead: AnyLedger, need: Need) -> bool:
        """Say whether it is one pod of which all is told by one flavor.

        By shares, whether it is short of nothing but room: who goes for quota is not told by nodes.
        """
        is_of_one_flavor = self.are_of_one_flavor(need.queue, need.kind, need.flavor)
        return is_of_one_flavor and (need.offer is not None or not self.is_short(ahead, need))

    def are_of_one_flavor(self, queue: ClusterQueue, kind: WorkloadClass, flavor: str) -> bool:
        """Say whether each is one pod, and those of this flavor that go change nothing for it in others."""
        if not kind.requests or not kind.is_free or queue.mix is not None:
            return False
        if any(map(self._tree.limits, self._tree.path(queue.name))):
            return False
        return not self._snapshot.flavors[flavor].is_summed

    def is_short(self, ahead: AnyLedger, need: Need) -> bool:
        """Say whether quota is short."""
        quota = next(one for one in need.queue.flavors if one.flavor == need.flavor)
        return ahead.quota_blocker(need.queue, quota, need.kind.requests) is not None

    def nodes(self, ahead: AnyLedger, need: Need) -> OneNode:
        """Return where there may come to be room."""
        flavor, shape = self._snapshot.flavors[need.flavor], need.kind.pod_sets[0].shape
        only = self._snapshot.freed if self._is_freed_alone(need.queue.name, need.kind) else None
        return OneNode(self._snapshot, self._away, ahead, flavor, shape, only=only)

    def is_ruled_out(self, queue: ClusterQueue, kind: WorkloadClass) -> bool:
        """Say whether nothing but some nodes is new to one pod, and these would not hold it, whoever may go there.

        Asked of all flavors together: for a gang that goes in one of them another may come to have room.
        """
        if not kind.is_free or not self._is_freed_alone(queue.name, kind):
            return False
        flavors = [self._snapshot.flavors[one.flavor] for one in queue.flavors]
        if any(one.is_summed for one in flavors):
            return False
        shape, freed, nodes = kind.pod_sets[0].shape, self._snapshot.freed, self._snapshot.nodes
        may_run = {name for one in flavors for name in freed & nodes.allowed(one, shape.constraints)}
        return not self._look.emptied.may_hold(may_run, kind, shape.requests)

    def _is_freed_alone(self, queue: str, kind: WorkloadClass) -> bool:
        """Whether others than the freed nodes are no use to a class, as before.

        Who is admitted or goes in this decision may let others go, on any node.
        """
        if kind not in self._look.for_freed_room or self._away.victims:
            return False
        return not self._ledger.charged_in(self._tree.path(queue)[-1])
