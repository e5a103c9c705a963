"""Finding whom to preempt for a workload: the search of Kueue's classical preemption, on the ledger of a decision.

Candidates are removed in order until the workload fits, then given back in reverse as far as it fits without them.
What is found is no minimum, but none of them could have stayed.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from heapq import merge
from typing import Final

from controller.core.candidates.candidate import Candidate, candidate_rank, uses
from controller.core.evictions.returns import Returns
from controller.core.fitting.placement import Placements, place
from controller.core.fitting.unlike_sets import Onto
from controller.core.ledgers.booked import AnyLedger
from controller.core.ledgers.ledger import Ledger
from controller.core.ledgers.simulation import Simulation
from controller.core.preemption.any_victims import AnyVictims
from controller.core.preemption.attempts import Attempt, Attempts, Need
from controller.core.preemption.eligibility import Candidates, Claim
from controller.core.preemption.larger_shares import LargerShares
from controller.core.preemption.possible_room import PossibleRoom
from controller.core.preemption.reclaim_order import in_reclaim_order
from controller.core.preemption.reclaimable_index import ReclaimableIndex
from controller.core.preemption.removals import Removals
from controller.core.preemption.short_columns import Short, ShortColumns
from controller.core.preemption.single_pods import SinglePods
from controller.core.preemption.victim_lines import VictimLines
from controller.core.queueing.queues import ClusterQueue, FlavorMode, WhenCanBorrow
from controller.core.quota.quota_tree import Column
from controller.core.snapshot import Snapshot
from controller.core.workloads.decisions import Wait
from controller.core.workloads.workload import WorkloadClass

Own = tuple[frozenset[Column], frozenset[str]]
"""Columns of which a workload must not borrow, and their flavors; of others it must borrow nothing."""

_ALL: Final[Own] = (frozenset(), frozenset())
_ANY: Final = Attempt(may_borrow=True)
_GOING: Final = Attempt(may_borrow=True, takes_going=True)


class VictimSearch:
    """The searches of one decision. Who was found goes (`take`), and is removed for all that are searched for later.

    `tries` counts how often it was seen whether a workload fits.
    """

    def __init__(self, snapshot: Snapshot, ledger: Ledger, returns: Returns) -> None:
        self._snapshot = snapshot
        self._tree = snapshot.queues.tree
        self._ledger = ledger
        self._returns = returns
        self.candidates = Candidates(snapshot, returns)
        self._simulation = Simulation(snapshot, ledger)
        self.reclaimable_index = ReclaimableIndex(snapshot, ledger, self.candidates, self._simulation)
        self._attempts = Attempts(snapshot.queues.tree, self.candidates, self.reclaimable_index, self._simulation)
        self._short = ShortColumns(snapshot, self._simulation)
        room = PossibleRoom(
            snapshot, ledger, self.candidates, self.reclaimable_index, self._attempts, self._short, self._simulation
        )
        self.any_victims = AnyVictims(
            snapshot, ledger, self.candidates, self.reclaimable_index.borrowers, room, self._simulation
        )
        self._lines = VictimLines(snapshot, ledger, self.candidates, self._simulation)
        self._single = SinglePods(snapshot, self._simulation)
        self._larger_shares = LargerShares(snapshot, self.candidates, self._simulation, self._lines, self._single)
        self.tries = 0

    @property
    def visited(self) -> int:
        """How many candidates were compared with a workload."""
        return self._lines.compared + self.reclaimable_index.compared

    def find(
        self, claim: Claim, kind: WorkloadClass, onto: Onto, left: AnyLedger, *, may_borrow: bool
    ) -> list[Candidate] | None:
        """Say who has to go so that a workload fits, its sets going onto these flavors; None: that would not help."""
        for need in self._needs(claim, kind, onto, left):
            for attempt in self._attempts.of(need):
                narrower = attempt if may_borrow else replace(attempt, may_borrow=False, borrows_nothing=True)
                victims = self._search_gently(need, narrower)
                if victims is not None:
                    return victims
        return None

    @property
    def is_any_going(self) -> bool:
        """Whether anybody goes, in this decision or since an earlier one."""
        return bool(self._simulation.victims or self.candidates.going)

    def find_going(self, claim: Claim, kind: WorkloadClass, onto: Onto, left: AnyLedger) -> list[Candidate] | None:
        """Say who of those that go anyway has to be gone so that a workload fits there; None: all are too few."""
        searches = (self._search(need, _GOING) for need in self._needs(claim, kind, onto, left))
        return next((found for found in searches if found is not None), None)

    def _needs(self, claim: Claim, kind: WorkloadClass, onto: Onto, left: AnyLedger) -> Iterator[Need]:
        """Yield what to search for; of several, the next one where nobody is found for the one before."""
        queue = claim.queue
        with self._simulation.of(left) as simulated:
            short = self._short.of(simulated, queue, kind, onto)
        is_fair = bool(self._tree.strategies(queue.name))
        reclaimable = None if is_fair or not short.columns else self.reclaimable_index.of(queue.name, short.columns)
        yield Need(claim, kind, onto, left, short, reclaimable)
        with self._simulation.of(left) as simulated:
            wider = self._short.with_room(simulated, queue, kind, onto, short)
        if wider is not None and self._may_more_go(queue.name, short, wider, onto):
            yield Need(claim, kind, onto, left, wider, None)

    def _may_more_go(self, own: str, short: Short, wider: Short, onto: Onto) -> bool:
        """Whether anybody has what is short beside quota who was not asked for that: most have some of both."""
        more = [column for column in wider.columns if column not in short.columns]
        for flavor in onto:
            for name in {own, *self.candidates.going, *self.reclaimable_index.borrowers.of(own, flavor)}:
                is_any = name == own or name in self.candidates.going
                columns = more if is_any else [one for one in more if self._ledger.usage.borrows(name, [one])]
                was_asked = short.columns if name == own else ()
                for held in self.candidates.columns_of(name, flavor) if columns else ():
                    if not held.isdisjoint(columns) and held.isdisjoint(was_asked):
                        return True
        return False

    def leave_out(self, other: VictimSearch) -> None:
        """Let those be removed who go for others in another search of the same decision."""
        self._simulation.take(other._simulation.victims.values())

    def take(self, claim: Claim, kind: WorkloadClass, victims: Iterable[Candidate], left: AnyLedger) -> Placements:
        """Let these be removed from now on, and hold what the workload needs that they go for; say where."""
        self._simulation.take(victims)
        with self._simulation.of(left) as simulated:
            found = self._fits(simulated, claim.queue, kind) or ()
        shapes = [one.shape for one in kind.pod_sets for _ in range(one.count)]
        for shape, placed in zip(shapes, found, strict=True):
            left.spend(claim.queue.name, placed.flavor, shape.requests, placed.node, placed.also)
            if not placed.flavor.is_spot:
                self._ledger.await_on_demand(claim.queue.name)
        return found

    def among_going(
        self, claim: Claim, kind: WorkloadClass, left: AnyLedger, *, may_borrow: bool
    ) -> tuple[list[Candidate], Onto] | None:
        """Say which of the pods that go already a workload needs gone, and its flavors then; None: all are too few."""
        going = sorted(
            (one for one in self.candidates.going_for(claim) if one.key not in self._simulation.pods),
            key=lambda one: candidate_rank(one, claim.queue.name),
        )
        with self._simulation.of(left) as simulated:
            removals = self._removals(simulated, claim.queue, kind, None if may_borrow else _ALL)
            victims = [] if self._simulation.victims and removals.suffice() else removals.find(going)
            with self._simulation.removing(simulated, victims or ()):
                own = None if may_borrow else _ALL
                found = self._fits(simulated, claim.queue, kind, own=own) if victims is not None else None
        return None if victims is None or found is None else (victims, tuple([one.flavor.name for one in found]))

    # -- one attempt -----------------------------------------------------------------------------------------------

    def _search_gently(self, need: Need, attempt: Attempt) -> list[Candidate] | None:
        """Search; where several have to go, without those whose eviction was refused before.

        Else some would go for nothing each time that the others are refused. Of one gang alone none goes then.
        """
        found = self._search(need, attempt)
        if found is not None and sum(not one.is_going for one in found) > 1 and any(one.was_refused for one in found):
            found = self._search(need, replace(attempt, spares_refused=True))
        if found is None or not self._stays_in_mix(need, found):
            return None
        pods = [(pod, one.queue) for one in found for pod in one.to_evict]
        return found if self._returns.may_all_go(pods) else None

    def _stays_in_mix(self, need: Need, victims: Sequence[Candidate]) -> bool:
        """Whether a workload also fits once those are gone that go anyway: on-demand pods among them open a mix."""
        if need.queue.mix is None or all(one.is_going for one in victims):
            return True
        gone = {pod.uid for one in victims for pod in one.pods} | self._simulation.pods
        going = [one for one in self.candidates.going_alone(need.queue.name) if one.key not in gone]
        with self._simulation.of(need.left) as simulated, self._simulation.removing(simulated, [*victims, *going]):
            return self._fits(simulated, need.queue, need.kind) is not None

    def _search(self, need: Need, attempt: Attempt) -> list[Candidate] | None:
        found = self._search_in(need, attempt, need.queue)
        if not found or not self._lets_in_elsewhere(need, found):
            return found
        # in other flavors nobody was asked on its account
        flavors = tuple([one for one in need.queue.flavors if one.flavor in need.onto])
        return self._search_in(need, attempt, replace(need.queue, flavors=flavors))

    def _lets_in_elsewhere(self, need: Need, victims: Sequence[Candidate]) -> bool:
        """Whether a workload would go onto flavors in which nobody was asked for it, nor of a gang that goes."""
        # of its own queue nobody has to have borrowed anything there
        own = need.queue.name
        if len(need.queue.flavors) == 1 or all(one.is_going or one.queue == own for one in victims):
            return False
        with self._simulation.of(need.left) as simulated, self._simulation.removing(simulated, victims):
            found = self._fits(simulated, need.queue, need.kind)
        # a gang goes as a whole: what it leaves in other flavors is free as well
        left = {flavor for one in victims for flavor, _ in one.columns}
        return found is not None and any(one.flavor.name not in {*need.onto, *left} for one in found)

    def _search_in(self, need: Need, attempt: Attempt, queue: ClusterQueue) -> list[Candidate] | None:
        with self._simulation.of(need.left) as simulated:
            removals = self._removals(simulated, queue, need.kind, _own_in(need, attempt))
            if self._simulation.victims and removals.suffice():
                return []
            if self._is_in_vain(simulated, need, attempt):
                return None
            if self._single.is_plain(simulated, need):
                found = self._on_one_node(simulated, need, attempt)
                if found is None:
                    return None
                # where quota is short too, it may be others that can stay, who come first when some are put back
                if found and self._has_quota(simulated, need, attempt, removing=found[-1]):
                    victims = removals.find(found)
                    if victims is not None:
                        return victims
            return removals.find(self._victims_of(simulated, need, attempt))

    def _is_in_vain(self, simulated: AnyLedger, need: Need, attempt: Attempt) -> bool:
        """Whether nobody goes who would help, told by less than a search would take."""
        if attempt.takes_going and not self.candidates.going:
            return True
        return bool(self._tree.strategies(need.queue.name)) and self._larger_shares.is_in_vain(simulated, need, attempt)

    def _on_one_node(self, simulated: AnyLedger, need: Need, attempt: Attempt) -> list[Candidate] | None:
        """Return those on the first node that may come to have room; empty: not told; None: all are too few."""
        if not attempt.may_borrow:
            own = self._lines.own(need, attempt)
            requests = need.kind.requests if attempt.borrows_nothing else need.asked(need.flavor)
            if not self._simulation.would_own(simulated, need.queue.name, need.flavor, requests, own):
                return None
        nodes = self._single.nodes(simulated, need)
        if need.reclaimable is not None:
            return nodes.find(self._in_turn(simulated, need, attempt))
        with closing(self._by_share(simulated, need, attempt)) as victims:
            return nodes.find(victims)

    def _by_share(self, simulated: AnyLedger, need: Need, attempt: Attempt) -> Generator[Candidate]:
        """Yield whom to remove by shares, each gone from the quota before the next; all are back at the end."""
        gone: list[Candidate] = []
        try:
            for one in self._victims_of(simulated, need, attempt):
                yield one
                self._simulation.remove(simulated, one, keeps_room=True)
                gone.append(one)
        finally:
            for one in reversed(gone):
                self._simulation.put_back(simulated, one, keeps_room=True)

    def _has_quota(self, simulated: AnyLedger, need: Need, attempt: Attempt, *, removing: Candidate) -> bool:
        """Whether quota is enough once this one alone is gone."""
        with self._simulation.removing(simulated, [removing], keeps_room=True):
            if self._single.is_short(simulated, need):
                return False
            requests = need.kind.requests if attempt.borrows_nothing else need.asked(need.flavor)
            return attempt.may_borrow or not simulated.borrowing_level(need.queue, need.flavor, requests)

    def _removals(self, simulated: AnyLedger, queue: ClusterQueue, kind: WorkloadClass, own: Own | None) -> Removals:
        """Return how candidates are removed until a workload fits; the ledger is as it was afterwards."""
        # more room never makes it worse for one pod in flavors that are tried in order,
        is_steady = kind.is_free and queue.mix is None and queue.flavor_mode is FlavorMode.ORDERED
        # but room in an earlier flavor may make it borrow there
        takes_first = queue.when_can_borrow is WhenCanBorrow.MAY_STOP_SEARCH
        is_strict = own is not None and takes_first and len(queue.flavors) > 1
        return Removals(
            partial(self._simulation.remove, simulated),
            partial(self._simulation.put_back, simulated),
            lambda: self._fits(simulated, queue, kind, own=own) is not None,
            lambda one: is_steady and not (is_strict and len({flavor for flavor, _ in one.columns}) > 1),
        )

    def _victims_of(self, simulated: AnyLedger, need: Need, attempt: Attempt) -> Iterable[Candidate]:
        """Return whom to remove, one after the other."""
        strategies = self._tree.strategies(need.queue.name)
        if not strategies:
            found = self._in_turn(simulated, need, attempt)
            # who is asked for while others are removed would be seen from there, unless nothing moved in the tree
            return found if need.reclaimable is None or need.reclaimable.usage is not None else list(found)
        going = self._lines.going(need, attempt)
        if attempt.takes_going:
            return going
        line_of = partial(self._lines.by_share, need, attempt, simulated.usage)
        return self._lines.fair_victims(simulated, need).take(going, line_of, strategies)

    def _in_turn(self, simulated: AnyLedger, need: Need, attempt: Attempt) -> Iterator[Candidate]:
        """Yield whom to remove where shares do not decide; where anything moved, nobody may be removed meanwhile."""
        own = need.queue.name
        others = in_reclaim_order(
            need,
            attempt,
            tree=self._tree,
            above=self.reclaimable_index.above(own),
            usage=simulated.usage,
            removed=self._simulation.victims,
        )
        lines = (self._lines.own(need, attempt), others)
        for one in merge(*lines, key=lambda one: candidate_rank(one, own, attempt.first)):
            # to stay within its own, its queue gives up some of that wherever it is
            gives_own = one.queue == own and not attempt.may_borrow and uses(one, need.short.own)
            if gives_own or self._short.is_in_the_way(simulated, own, need.short, one):
                yield one

    def _fits(
        self, simulated: AnyLedger, queue: ClusterQueue, kind: WorkloadClass, *, own: Own | None = None
    ) -> Placements | None:
        """Say where a workload fits; `own`: only where it borrows nothing of these columns."""
        self.tries += 1
        found = place(self._snapshot, simulated, queue, kind)
        if isinstance(found, Wait):
            return None
        return None if own is not None and _borrows(simulated, queue, kind, found, own) else found


def _own_in(need: Need, attempt: Attempt) -> Own | None:
    """Return of what it must not borrow in an attempt."""
    if attempt.may_borrow:
        return None
    return _ALL if attempt.borrows_nothing else (need.short.own, frozenset(need.flavors))


def _borrows(simulated: AnyLedger, queue: ClusterQueue, kind: WorkloadClass, found: Placements, own: Own) -> bool:
    """Whether a workload that goes there borrows what it must not; in flavors that nobody asked for, anything."""
    columns, asked = own
    demand: dict[Column, int] = {}
    shapes = [one.shape for one in kind.pod_sets for _ in range(one.count)]
    for shape, placed in zip(shapes, found, strict=True):
        for flavor in (placed.flavor, *placed.also):
            for resource, need in shape.requests:
                demand[flavor.name, resource] = demand.get((flavor.name, resource), 0) + need
    for name in {column[0]: None for column in demand}:
        counted = [
            (column[1], need)
            for column, need in demand.items()
            if column[0] == name and (column in columns or name not in asked)
        ]
        if simulated.borrowing_level(queue, name, tuple(counted)):
            return True
    return False
