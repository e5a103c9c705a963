"""Whether anybody may be preempted who might make room for a workload, told by far less than a search: few find one."""

from __future__ import annotations

from collections.abc import Sequence

from controller.core.ledgers.ledger import Ledger
from controller.core.ledgers.simulation import Simulation
from controller.core.preemption.borrowers import Borrowers
from controller.core.preemption.eligibility import Candidates, Claim
from controller.core.preemption.possible_room import PossibleRoom
from controller.core.queueing.preemption_policy import Reclaim
from controller.core.queueing.queues import ClusterQueue
from controller.core.snapshot import Snapshot
from controller.core.workloads.workload import Workload


class AnyVictims:
    """Asked of one decision's candidates, without those who go for others by now."""

    def __init__(
        self,
        snapshot: Snapshot,
        ledger: Ledger,
        candidates: Candidates,
        borrowers: Borrowers,
        possible_room: PossibleRoom,
        simulation: Simulation,
    ) -> None:
        self._snapshot = snapshot
        self._tree = snapshot.queues.tree
        self._ledger = ledger
        self._candidates = candidates
        self._borrowers = borrowers
        self._simulation = simulation
        self._possible_room = possible_room
        self._going_in = {self._tree.path(name)[-1] for name in candidates.going}
        """The roots of the trees in which pods go anyway."""
        self._known_givers: dict[tuple[str, str], tuple[int, list[str]]] = {}
        """By root of a tree and flavor, with how much was charged there by then."""

    def may_be(self, queue: ClusterQueue, workload: Workload) -> bool:
        """Say whether somebody may go for a workload, in whichever flavor, or goes anyway in its tree.

        Who goes for others by now, in whatever tree, leaves room that this does not know.
        """
        if self._simulation.victims or self._tree.path(queue.name)[-1] in self._going_in:
            return True
        claim = self._candidates.claim(queue, workload)
        flavors = [one.flavor for one in queue.flavors]
        is_any = any(next(self._candidates.own(claim, flavor), None) is not None for flavor in flavors) or any(
            self._may_reclaim(claim, flavor) for flavor in flavors
        )
        return is_any and self._possible_room.may_be(queue, workload.kind, claim)

    def _may_reclaim(self, claim: Claim, flavor: str) -> bool:
        own = claim.queue.name
        if claim.queue.preemption.reclaim is Reclaim.NEVER or not claim.queue.parent:
            return False
        others = (name for name in self._givers(own, flavor) if name != own)
        if claim.queue.preemption.reclaim is Reclaim.ANY:
            return next(others, None) is not None
        return any(next(self._candidates.of_other(claim, name, flavor), None) is not None for name in others)

    def _givers(self, queue: str, flavor: str) -> Sequence[str]:
        """Return the queues of a tree that may borrow, and have somebody who is not left in peace now."""
        root = self._tree.path(queue)[-1]
        charges, known = len(self._ledger.charged_in(root)), self._known_givers.get((root, flavor))
        if known is None or known[0] != charges:
            now, of = self._snapshot.now, self._candidates.of
            found = [
                name for name in self._borrowers.of(queue, flavor) if any(now >= one.quiet for one in of(name, flavor))
            ]
            known = self._known_givers[root, flavor] = charges, found
        return known[1]
