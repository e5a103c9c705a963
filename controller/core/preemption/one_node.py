"""On which node one pod has room first when candidates go one after the other, and who of them has to go there.

Most preemptors are one pod, and lack room on a node: then those on other nodes go for nothing, and taking each of them
off the ledger to see that, and putting it back, costs more than all else of a search.
"""

from __future__ import annotations

from collections.abc import Iterable

from controller.core.candidates.candidate import Candidate
from controller.core.kubernetes.amounts import Requests
from controller.core.ledgers.booked import AnyLedger
from controller.core.ledgers.simulation import Simulation
from controller.core.queueing.queues import Flavor
from controller.core.snapshot import Snapshot
from controller.core.workloads.shapes import Shape


class OneNode:
    """The nodes of a flavor as candidates go, for one pod of a shape."""

    def __init__(
        self,
        snapshot: Snapshot,
        simulation: Simulation,
        simulated: AnyLedger,
        flavor: Flavor,
        shape: Shape,
    ) -> None:
        self._simulation = simulation
        self._flavor = flavor
        self._shape = shape
        self._ledger = simulation.base(simulated)
        self._only_shrank = self._ledger is simulated
        """Else who is removed may have been taken off it since it was asked before."""
        self._allowed = snapshot.nodes.index.allowed(flavor, shape.constraints)
        self._free: dict[str, dict[str, int]] = {}
        self._there: dict[str, list[Candidate]] = {}

    def find(self, candidates: Iterable[Candidate]) -> list[Candidate] | None:
        """Return those of the candidates on the first node that has room once they are gone; None: no node ever has.

        Empty where that says nothing: a node has room already, or one of them has something of another flavor as well.
        """
        ledger, flavor, shape = self._ledger, self._flavor, self._shape
        is_full = self._only_shrank and ledger.is_known_to_be_full(flavor, shape)
        if not is_full and ledger.find_node(flavor, shape):
            return []
        for one in candidates:
            found = self._let_go(one)
            if found is not None:
                return found
        return None

    def _let_go(self, one: Candidate) -> list[Candidate] | None:
        """Return who had to go for it where a node has room now that this one is gone too, or what `find` does."""
        for flavor, _ in one.columns:
            if flavor != self._flavor.name:
                return []
        for node, requests in self._simulation.on_nodes(one):
            if node in self._allowed:
                self._there.setdefault(node, []).append(one)
                if self._has_room(node, requests):
                    return list(dict.fromkeys(self._there[node]))
        return None

    def _has_room(self, node: str, more: Requests) -> bool:
        """Whether a node has room with these given back too."""
        free = self._free.get(node)
        if free is None:
            asked = (resource for resource, _ in self._shape.requests)
            free = self._free[node] = {resource: self._ledger.left("node", node, resource) for resource in asked}
        for resource, amount in more:
            if resource in free:
                free[resource] += amount
        return all(free[resource] >= need for resource, need in self._shape.requests)
