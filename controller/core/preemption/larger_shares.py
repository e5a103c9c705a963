"""Whether by shares anybody may be preempted for a workload: a necessary test, which takes less than a search."""

from __future__ import annotations

from collections.abc import Sequence

from controller.core.candidates.candidate import Candidate
from controller.core.ledgers.booked import AnyLedger
from controller.core.ledgers.simulation import Simulation
from controller.core.preemption.attempts import Attempt, Need
from controller.core.preemption.eligibility import Candidates
from controller.core.preemption.single_pods import SinglePods
from controller.core.preemption.victim_lines import VictimLines
from controller.core.snapshot import Snapshot


class LargerShares:
    """Those of one decision."""

    def __init__(
        self, snapshot: Snapshot, candidates: Candidates, simulation: Simulation, lines: VictimLines, single: SinglePods
    ) -> None:
        self._tree = snapshot.queues.tree
        self._candidates = candidates
        self._simulation = simulation
        self._lines = lines
        self._single = single

    def is_in_vain(self, simulated: AnyLedger, need: Need, attempt: Attempt) -> bool:
        """Say whether nobody goes who would help."""
        is_any_going = bool(self._lines.going(need, attempt))
        if is_any_going or attempt.takes_going:
            return not is_any_going
        own = list(self._lines.own(need, attempt))
        if self._may_others_go(simulated, need, own):
            return False
        return not own or not self._may_own_help(simulated, need, own)

    def _may_own_help(self, simulated: AnyLedger, need: Need, own: Sequence[Candidate]) -> bool:
        return not self._single.is_plain(simulated, need) or self._single.nodes(simulated, need).find(own) is not None

    def _may_others_go(self, simulated: AnyLedger, need: Need, own: Sequence[Candidate]) -> bool:
        """Whether others than its own may have a larger share, even once all of these are gone from its own."""
        name, shares = need.queue.name, self._lines.shares(simulated, need.queue.name)
        borrowers = [(one, at) for at in need.flavors for one in shares.borrowers(self._tree.path(name)[-1], at)]
        if not any(one != name and self._candidates.of(one, at) for one, at in borrowers):
            return False
        for at in need.flavors:
            shares.keep(name, at)
        with self._simulation.removing(simulated, own, keeps_room=True):
            victims = self._lines.fair_victims(simulated, need)
            for one in own:
                victims.note_gone(one)
            return victims.has_larger_shares()
