"""Whether one pod may come to have room on a node at all, were all gone whom any attempt of a search takes away.

A necessary test before a search. All who preempt from one place of a tree meet the same candidates of other queues, so
what these leave on nodes is added up once for all of them, and kept as long as nothing moves in the tree.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from controller.core.candidates.candidate import Candidate
from controller.core.candidates.reclaimable import Freed, Line
from controller.core.ledgers.ledger import Ledger
from controller.core.ledgers.simulation import Simulation
from controller.core.preemption.attempts import Attempt, Attempts, Need
from controller.core.preemption.eligibility import Candidates, Claim
from controller.core.preemption.reclaim_order import line_of
from controller.core.preemption.reclaimable_index import ReclaimableIndex
from controller.core.preemption.short_columns import ShortColumns
from controller.core.queueing.queues import ClusterQueue, Flavor, FlavorMode
from controller.core.snapshot import Snapshot
from controller.core.workloads.shapes import Shape
from controller.core.workloads.workload import WorkloadClass


class PossibleRoom:
    """The tests of one decision."""

    def __init__(
        self,
        snapshot: Snapshot,
        ledger: Ledger,
        candidates: Candidates,
        reclaimable_index: ReclaimableIndex,
        attempts: Attempts,
        short: ShortColumns,
        simulation: Simulation,
    ) -> None:
        self._snapshot = snapshot
        self._tree = snapshot.queues.tree
        self._ledger = ledger
        self._candidates = candidates
        self._reclaimable_index = reclaimable_index
        self._attempts = attempts
        self._short = short
        self._simulation = simulation
        self._occupied = 0
        self._known: dict[tuple[Line[Candidate], Shape], bool] = {}
        """By line of candidates and shape, as long as nothing was taken from a node."""
        self._known_scarce: dict[tuple[str, Shape], frozenset[str]] = {}
        """By flavor and shape, for as long."""

    def may_be(self, queue: ClusterQueue, kind: WorkloadClass, claim: Claim) -> bool:
        """Say whether there may come to be room; yes, where that rests on more than what nodes have free."""
        if not self._is_told(queue, kind):
            return True
        flavors = self._snapshot.queues.flavors
        return any(self._may_be_in(queue, kind, claim, flavors[one.flavor]) for one in queue.flavors)

    def _is_told(self, queue: ClusterQueue, kind: WorkloadClass) -> bool:
        """Whether it is one pod that goes onto one flavor, and neither a mix nor shares say who may go."""
        if not kind.is_free or queue.mix is not None or queue.flavor_mode is not FlavorMode.ORDERED:
            return False
        return not self._simulation.victims and not self._tree.strategies(queue.name)

    def _may_be_in(self, queue: ClusterQueue, kind: WorkloadClass, claim: Claim, flavor: Flavor) -> bool:
        shape = kind.pod_sets[0].shape
        if flavor.is_summed or self._ledger.find_node(flavor, shape) is not None:
            return True
        own = tuple(self._candidates.own(claim, flavor.name))
        if own or not kind.requests:
            need = self._need(queue, kind, claim, flavor.name)
            lines = [self._line(need, one) for one in self._attempts.of(need) if self._may_own(need, one, own)]
            return any(self._has_room_beside(need, line, flavor, shape, own) for line in lines)
        for line in self._lines(queue, kind, claim, flavor):
            if not self._is_ruled_out(line, flavor, shape):
                need = self._need(queue, kind, claim, flavor.name)
                if self._has_room_beside(need, line, flavor, shape, own):
                    return True
        return False

    def _lines(
        self, queue: ClusterQueue, kind: WorkloadClass, claim: Claim, flavor: Flavor
    ) -> tuple[Line[Candidate], ...]:
        """Return who goes of other queues, attempt by attempt; the same as long as nothing moves in the tree."""
        # without room on nodes all that it asks for is short
        reclaimable = self._reclaimable_index.of(
            queue.name, tuple([(flavor.name, resource) for resource, _ in kind.requests])
        )
        scarce = self._scarce(flavor, kind.pod_sets[0].shape)
        key = (queue.name, queue.preemption, claim.priority, kind.requests, scarce)
        known = reclaimable.asked.get(key)
        if known is None:
            need = self._need(queue, kind, claim, flavor.name)
            lines = [self._line(need, one) for one in self._attempts.of(need) if self._may_own(need, one, ())]
            known = reclaimable.asked[key] = tuple([one for one in lines if one is not None])
        return known

    def _scarce(self, flavor: Flavor, shape: Shape) -> frozenset[str]:
        """Return of what not even the emptiest node has enough."""
        if self._occupied != self._ledger.occupied:
            self._occupied = self._ledger.occupied
            self._known.clear()
            self._known_scarce.clear()
        known = self._known_scarce.get((flavor.name, shape))
        if known is None:
            most = self._ledger.most_free
            found = [resource for resource, need in shape.requests if most(flavor, shape, resource) < need]
            known = self._known_scarce[flavor.name, shape] = frozenset(found)
        return known

    def _may_own(self, need: Need, attempt: Attempt, own: Sequence[Candidate]) -> bool:
        """Whether its queue may come to stay within its own where it has to."""
        asked = need.asked(need.flavor)
        return attempt.may_borrow or self._simulation.would_own(self._ledger, need.queue.name, need.flavor, asked, own)

    def _need(self, queue: ClusterQueue, kind: WorkloadClass, claim: Claim, flavor: str) -> Need:
        short = self._short.of(self._ledger, queue, kind, (flavor,))
        reclaimable = self._reclaimable_index.of(queue.name, short.columns) if short.columns else None
        return Need(claim, kind, (flavor,), self._ledger, short, reclaimable)

    def _line(self, need: Need, attempt: Attempt) -> Line[Candidate] | None:
        """Return who of other queues goes in an attempt, some of its own among them."""
        if need.reclaimable is None:
            return None
        above = self._reclaimable_index.above(need.queue.name)
        return line_of(need, attempt, need.reclaimable, self._tree, above, self._ledger.usage, self._simulation.victims)

    def _is_ruled_out(self, line: Line[Candidate], flavor: Flavor, shape: Shape) -> bool:
        """Say whether no node has room even if all of a line go; asked for all who meet the same line together."""
        known = self._known.get((line, shape))
        if known is None:
            known = self._known[line, shape] = not self._has_room(flavor, shape, _freed(line))
        return known

    def _has_room_beside(
        self, need: Need, line: Line[Candidate] | None, flavor: Flavor, shape: Shape, own: Sequence[Candidate]
    ) -> bool:
        """Say the same of those who are in the way, beside those of its own queue."""
        name = need.queue.name
        others = () if line is None else (one for one in _all_of(line) if one.queue != name)
        in_the_way = [one for one in others if self._short.is_in_the_way(self._ledger, name, need.short, one)]
        return self._has_room(flavor, shape, _freed_by([*own, *in_the_way]))

    def _has_room(self, flavor: Flavor, shape: Shape, freed: Freed) -> bool:
        if freed.is_of_several:
            return True
        allowed, left = self._snapshot.nodes.index.allowed(flavor, shape.constraints), self._ledger.left
        for node, there in freed.nodes.items():
            if node in allowed and all(
                left("node", node, resource) + there.get(resource, 0) >= need for resource, need in shape.requests
            ):
                return True
        return False


def _all_of(line: Line[Candidate]) -> Sequence[Candidate]:
    line.known.extend(line.rest)
    return line.known


def _freed(line: Line[Candidate]) -> Freed:
    if line.freed is None:
        line.freed = _freed_by(_all_of(line))
    return line.freed


def _freed_by(candidates: Iterable[Candidate]) -> Freed:
    """Add up what these leave on their nodes, known or not: it may be kept for longer than one decision."""
    freed = Freed()
    for one in candidates:
        freed.is_of_several = freed.is_of_several or len({flavor for flavor, _ in one.columns}) > 1
        for pod in one.pods:
            there = freed.nodes.setdefault(pod.node or pod.pinned or "", {})
            for resource, amount in pod.shape.requests:
                there[resource] = there.get(resource, 0) + amount
    return freed
