"""Which classes of workloads a decision looks at: all that is not settled, and what room that came free may let in."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from controller.core.amounts import Requests
from controller.core.borrowers import Borrowers
from controller.core.ledger import Ledger
from controller.core.snapshot import Snapshot
from controller.core.workloads import WorkloadClass

_FREED_COMPARED = 16
"""Of more nodes that came free than this it is taken for granted that one helps."""


def looked_at(snapshot: Snapshot, ledger: Ledger) -> Mapping[WorkloadClass, object]:
    """Return the classes to look at, as keys in an order that equal worlds share."""
    settled, nodes, freed = snapshot.settled, snapshot.nodes, snapshot.freed
    if settled is None:
        return snapshot.runs
    found, emptied = dict(settled.pending), _Emptied(snapshot, ledger)
    for name in sorted({nodes.flavor_of.get(node, "") for node in freed} - {""}):
        flavor = snapshot.flavors[name]
        for of in (name, ""):
            for shape, kinds in settled.of_any_room(of).items():
                may_run = freed & nodes.allowed(flavor, shape.constraints)
                for kind in kinds if may_run else ():
                    if kind not in found and emptied.may_hold(may_run, kind, shape.requests):
                        found[kind] = None
        for shape, kinds in settled.short_of_room(name).items():
            if ledger.has_freed_room(flavor, shape):
                found.update(dict.fromkeys(kinds))
    return found


class _Emptied:
    """Nodes that came free, as they were without those whom a class may preempt there at most."""

    def __init__(self, snapshot: Snapshot, ledger: Ledger) -> None:
        self._snapshot = snapshot
        self._ledger = ledger
        self._borrowers = Borrowers(snapshot.tree, snapshot.usage, ledger)
        self._held: dict[str, dict[str, list[Requests]]] = {}

    def may_hold(self, nodes: Collection[str], kind: WorkloadClass, requests: Requests) -> bool:
        """Say whether one of these nodes may have room for a pod of a class, others being gone."""
        local = self._snapshot.local_queues.get(kind.queue)
        if local is None or len(nodes) > _FREED_COMPARED:
            return True
        return any(self._has(node, local.cluster_queue, requests) for node in nodes)

    def _has(self, node: str, queue: str, requests: Requests) -> bool:
        if node not in self._held:
            self._held[node] = self._look(node)
        held, root = self._held[node], self._snapshot.tree.path(queue)[-1]
        gone = [*held.get(f"of {queue}", ()), *held.get(f"below {root}", ())] if held else []
        for resource, need in requests:
            free = self._ledger.left("node", node, resource)
            if free < need and free + sum(dict(one).get(resource, 0) for one in gone) < need:
                return False
        return True

    def _look(self, node: str) -> dict[str, list[Requests]]:
        """Return what is held there by queue, and by root what those of its tree hold that borrow or go."""
        found: dict[str, list[Requests]] = {}
        for uid in self._snapshot.bound.get(node, ()):
            pod = self._snapshot.pods.get(uid)
            if pod is None or not pod.cluster_queue:
                continue
            found.setdefault(f"of {pod.cluster_queue}", []).append(pod.shape.requests)
            is_going = pod.is_terminating or uid in self._snapshot.leaving.evicting
            flavors = (pod.flavor or "", *pod.also)
            if is_going or any(self._borrowers.has(pod.cluster_queue, flavor) for flavor in flavors):
                root = self._snapshot.tree.path(pod.cluster_queue)[-1]
                found.setdefault(f"below {root}", []).append(pod.shape.requests)
        return found
