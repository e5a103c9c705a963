"""Whether there is anybody at all whom a workload may preempt: told by far less than a search, and most find nobody."""

from __future__ import annotations

from controller.core.ledgers.away import Away
from controller.core.preemption.borrowers import Borrowers
from controller.core.preemption.eligibility import Candidates, Claim
from controller.core.queueing.preemption_policy import Reclaim
from controller.core.queueing.queues import ClusterQueue
from controller.core.workloads.workload import Workload
from controller.core.world.snapshot import Snapshot


class AnyVictims:
    """Asked of one decision's candidates, without those who go for others by now."""

    def __init__(self, snapshot: Snapshot, candidates: Candidates, borrowers: Borrowers, away: Away) -> None:
        self._tree = snapshot.tree
        self._candidates = candidates
        self._borrowers = borrowers
        self._away = away

    def may_be(self, queue: ClusterQueue, workload: Workload) -> bool:
        """Say whether somebody may go for a workload, in whichever flavor, or goes anyway."""
        if self._away.victims or self._candidates.going:
            return True
        claim = self._candidates.claim(queue, workload)
        flavors = [one.flavor for one in queue.flavors]
        if any(next(self._candidates.own(claim, flavor), None) is not None for flavor in flavors):
            return True
        return any(self._may_reclaim(claim, flavor) for flavor in flavors)

    def _may_reclaim(self, claim: Claim, flavor: str) -> bool:
        own = claim.queue.name
        if claim.queue.preemption.reclaim is Reclaim.NEVER or not claim.queue.parent:
            return False
        others = (name for name in self._borrowers.of(own, flavor) if name != own)
        return any(next(self._candidates.of_other(claim, name, flavor), None) is not None for name in others)
