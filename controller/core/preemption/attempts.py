"""In which attempts it is tried to find room for a workload by preemption, and who gives way in each of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from controller.core.candidates.reclaimable import ReclaimableCandidates
from controller.core.fitting.unlike_sets import Onto
from controller.core.kubernetes.amounts import Requests
from controller.core.ledgers.booked import AnyLedger
from controller.core.ledgers.simulation import Simulation
from controller.core.preemption.eligibility import Candidates, Claim
from controller.core.preemption.reclaimable_index import ReclaimableIndex
from controller.core.preemption.short_columns import Short, demand_of
from controller.core.queueing.preemption_policy import Reclaim
from controller.core.queueing.queues import ClusterQueue
from controller.core.quota.quota_tree import Column, QuotaTree
from controller.core.workloads.workload import WorkloadClass


class Yield(Enum):
    """Who of other queues gives way in an attempt: all, whom priority lets go for a borrower, or who goes anyway."""

    ALL = "all"
    MILD = "mild"
    GOING = "going"


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One of Kueue's: whether the workload may borrow then, and who gives way.

    That is asked of what is short alone; `borrows_nothing`: of all that it asks for. `first` are queues that give up
    anyone before the others do. `takes_going`: of all queues only who goes anyway. `spares_refused`: nobody goes whose
    eviction was refused before.
    """

    may_borrow: bool
    borrows_nothing: bool = False
    first: frozenset[str] = frozenset()
    yields: Yield = Yield.ALL
    takes_going: bool = False
    spares_refused: bool = False


@dataclass(frozen=True, slots=True)
class Need:
    """What is searched for: room for a workload of this class, at whose cost, in what is left.

    Its pod sets go `onto` flavors, `short` is what it lacks there. `reclaimable` is what other queues give up of that
    where shares do not decide.
    """

    claim: Claim
    kind: WorkloadClass
    onto: Onto
    left: AnyLedger
    short: Short
    reclaimable: ReclaimableCandidates | None

    @property
    def queue(self) -> ClusterQueue:
        """The preemptor's."""
        return self.claim.queue

    @property
    def columns(self) -> tuple[Column, ...]:
        """Those of which who has anything may be in its way."""
        return self.short.columns

    @property
    def flavor(self) -> str:
        """That of one pod, or of pods alike."""
        return self.onto[0]

    @property
    def flavors(self) -> tuple[str, ...]:
        """Those that it is to go onto."""
        return self.onto if len(self.onto) == 1 else tuple(dict.fromkeys(self.onto))

    def asked(self, flavor: str) -> Requests:
        """Return what it takes of a flavor of what is short by its queue's own quota too, in all."""
        own = self.short.own
        if len(self.onto) == 1:
            return tuple([one for one in self.kind.requests if (flavor, one[0]) in own])
        demand = demand_of(self.kind, self.onto)
        return tuple([(column[1], need) for column, need in demand.items() if column[0] == flavor and column in own])


class Attempts:
    """The attempts of one decision's searches."""

    def __init__(
        self, tree: QuotaTree, candidates: Candidates, reclaimable_index: ReclaimableIndex, simulation: Simulation
    ) -> None:
        self._tree = tree
        self._candidates = candidates
        self._reclaimable_index = reclaimable_index
        self._simulation = simulation

    def of(self, need: Need) -> list[Attempt]:
        """Mirrors the attempts of Kueue's `GetTargets`, but who goes anyway counts first alone, and then in each.

        None where nobody might go: most of those that look again after something ended find that. With others away for
        good it may fit without anybody more.
        """
        policy = need.queue.preemption
        if self._tree.strategies(need.queue.name):
            return [Attempt(may_borrow=True)]
        others = self._others(need)
        if not others:
            own = (next(self._candidates.own(need.claim, flavor), None) for flavor in need.flavors)
            is_any = bool(self._simulation.victims) or any(one is not None for one in own)
            return [Attempt(may_borrow=True, yields=Yield.GOING)] if is_any else []
        attempts: list[Attempt] = []
        if any(map(self._candidates.going_of, others)):
            attempts.append(Attempt(may_borrow=True, takes_going=True))
        with self._simulation.of(need.left) as simulated:
            level, is_under_nominal = _level(simulated, need), self._is_under_nominal(simulated, need)
        first = self._advantage(need, others, level)
        # who stays within its own takes that back first, whatever priorities say of borrowing
        if level and (first or policy.borrows):
            attempts.append(Attempt(may_borrow=True, first=first, yields=Yield.MILD))
        if not level or is_under_nominal:
            attempts.append(Attempt(may_borrow=False))
        attempts.append(Attempt(may_borrow=True, yields=Yield.GOING))
        return attempts

    def _others(self, need: Need) -> list[str]:
        """Return the other queues that borrow and have somebody whom the claim may drive out, or who goes anyway."""
        reclaimable, name = need.reclaimable, need.queue.name
        if reclaimable is None or need.queue.preemption.reclaim is Reclaim.NEVER:
            return []
        givers = self._reclaimable_index.givers(reclaimable, name)
        if need.queue.preemption.reclaim is Reclaim.ANY:
            return [one for one in givers if one != name]
        lines = ((one, reclaimable.by_queue[one].known) for one in givers if one != name)
        return [one for one, known in lines if any(need.claim.reclaims(it) for _, it in known)]

    def _advantage(self, need: Need, others: Iterable[str], level: int) -> frozenset[str]:
        """Return those other queues that are outside a subtree that holds the workload within what it owns.

        The queue may borrow inside of it. This is the hierarchical advantage of Kueue: what such a subtree lent is its
        own again, whatever `borrowWithinCohort` says.
        """
        if not level or need.reclaimable is None:
            return frozenset()  # then it is within its own quota, and all others are outside
        found = self._reclaimable_index.outside(need.reclaimable, need.queue.name, level)
        return found if need.queue.preemption.reclaim is Reclaim.ANY else found.intersection(others)

    def _is_under_nominal(self, simulated: AnyLedger, need: Need) -> bool:
        for column in need.short.own:
            cell = self._tree.cell(need.queue.name, column)
            if cell is not None and simulated.usage.used(need.queue.name, *column) >= cell.subtree:
                return False
        return True


def _level(simulated: AnyLedger, need: Need) -> int:
    """Return how far up the tree it would borrow of what is short."""
    return max(simulated.borrowing_level(need.queue, flavor, need.asked(flavor)) for flavor in need.flavors)
