"""Finding whom to preempt for a workload: the search of Kueue's classical preemption, on the ledger of a decision.

Candidates are taken away in order until the workload fits, then given back in reverse as far as it fits without them.
What is found is no minimum, but none of them could have stayed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import partial
from heapq import heappop, heappush

from controller.core.away import Away
from controller.core.booked import AnyLedger
from controller.core.borrowers import Borrowers
from controller.core.candidates import Candidate, Standing, standing, uses
from controller.core.decisions import Place, Wait
from controller.core.fair_preempting import Demand, FairVictims
from controller.core.fair_sharing import FairShares
from controller.core.ledger import Ledger
from controller.core.placement import Placements, place
from controller.core.preemption import Candidates, Claim
from controller.core.queues import ClusterQueue, FlavorMode, WhenCanBorrow
from controller.core.quota_tree import Column
from controller.core.removals import Removals
from controller.core.returns import Returns
from controller.core.rounds import is_left_in_peace
from controller.core.snapshot import Snapshot
from controller.core.workloads import WorkloadClass


class _Yield(Enum):
    """Who of other queues gives way in an attempt: all, whom priority lets go for a borrower, or who goes anyway."""

    ALL = "all"
    MILD = "mild"
    GOING = "going"


@dataclass(frozen=True, slots=True)
class _Attempt:
    """One of Kueue's: which other queues give somebody up, and whether the workload may borrow then.

    `first` are those that give up anyone before the others do. `takes_going`: of all queues only who goes anyway.
    `spares_refused`: nobody goes whose eviction was refused before.
    """

    others: Sequence[str]
    may_borrow: bool
    first: Collection[str] = ()
    yields: _Yield = _Yield.ALL
    takes_going: bool = False
    spares_refused: bool = False


@dataclass(frozen=True, slots=True)
class _Need:
    """What is searched for: room in a flavor for a workload of this class, at whose cost, in what is left."""

    claim: Claim
    kind: WorkloadClass
    flavor: str
    left: AnyLedger

    @property
    def queue(self) -> ClusterQueue:
        """The preemptor's."""
        return self.claim.queue

    @property
    def columns(self) -> list[Column]:
        """What the workload asks for of the flavor."""
        return [(self.flavor, resource) for resource, _ in self.kind.requests]


class VictimSearch:
    """The searches of one decision. Who was found goes (`take`), and is away for all that are searched for later.

    `looked_at` counts the candidates that were compared with a workload, `tries` how often it was seen whether one
    fits.
    """

    def __init__(self, snapshot: Snapshot, ledger: Ledger, returns: Returns) -> None:
        self._snapshot = snapshot
        self._tree = snapshot.tree
        self._ledger = ledger
        self._returns = returns
        self.candidates = Candidates(snapshot, returns)
        self._borrowers = Borrowers(snapshot.tree, snapshot.usage, ledger)
        self._shares_of: dict[int, FairShares] = {}
        self._away = Away(snapshot, ledger)
        self.looked_at = 0
        self.tries = 0

    def find(
        self, claim: Claim, kind: WorkloadClass, flavor: str, left: AnyLedger, *, may_borrow: bool
    ) -> list[Candidate] | None:
        """Say who has to go so that a workload fits this flavor; None: that would not help."""
        need = _Need(claim, kind, flavor, left)
        for attempt in self._attempts(need):
            tried = replace(attempt, may_borrow=attempt.may_borrow and may_borrow)
            victims = self._search_gently(need, tried)
            if victims is not None:
                return victims
        return None

    def take(self, claim: Claim, kind: WorkloadClass, victims: Iterable[Candidate], left: AnyLedger) -> Counter[Place]:
        """Let these be away from now on, and hold what the workload needs that they go for; say where."""
        self._away.take(victims)
        with self._away.ahead(left) as ahead:
            found = self._fits(ahead, claim.queue, kind, may_borrow=True) or ()
        shapes = [one.shape for one in kind.pod_sets for _ in range(one.count)]
        for shape, placed in zip(shapes, found, strict=True):
            left.spend(claim.queue.name, placed.flavor, shape.requests, placed.node, placed.also)
            if not placed.flavor.is_spot:
                self._ledger.await_on_demand(claim.queue.name)
        return Counter((flavor.name, one.node) for one in found for flavor in (one.flavor, *one.also))

    def among_going(
        self, claim: Claim, kind: WorkloadClass, left: AnyLedger, *, may_borrow: bool
    ) -> tuple[list[Candidate], str] | None:
        """Say which of the pods that go already a workload needs gone, and its flavor then; None: all are too few."""
        away = self._away.pods()
        going = sorted(
            (one for one in self.candidates.going_for(claim) if one.key not in away),
            key=lambda one: standing(one, claim.queue.name),
        )
        with self._away.ahead(left) as ahead:
            victims = self._try(ahead, claim, kind, going, may_borrow=may_borrow)
            for one in victims or ():
                self._away.remove(ahead, one)
            found = self._fits(ahead, claim.queue, kind, may_borrow=may_borrow) if victims is not None else None
            for one in victims or ():
                self._away.put_back(ahead, one)
        return None if victims is None or found is None else (victims, found[0].flavor.name)

    # -- attempts --------------------------------------------------------------------------------------------------

    def _attempts(self, need: _Need) -> list[_Attempt]:
        """Mirrors the attempts of Kueue's `GetTargets`, but who goes anyway counts first alone, and then in each."""
        policy, others = need.queue.preemption, self._others(need)
        if self._tree.strategies(need.queue.name) or not others:
            return [_Attempt(others, may_borrow=True)]
        attempts: list[_Attempt] = []
        going = [one for one in others if self.candidates.going_of(one)]
        if going:
            attempts.append(_Attempt(going, may_borrow=True, takes_going=True))
        first = self._advantage(need, others)
        if first or policy.borrows:
            attempts.append(_Attempt(others, may_borrow=True, first=first, yields=_Yield.MILD))
        if self._is_under_nominal(need):
            attempts.append(_Attempt(others, may_borrow=False))
        attempts.append(_Attempt(going, may_borrow=True, yields=_Yield.GOING))
        return attempts

    def _others(self, need: _Need) -> list[str]:
        """Return the other queues that borrow and have somebody whom the claim may drive out, or who goes anyway."""
        name, columns = need.queue.name, need.columns
        if self._tree.strategies(name):
            short = self._short(need)
            borrowing = self._borrowers.of(name, need.flavor)
            return [one for one in borrowing if one != name and self._ledger.usage.borrows(one, short)]
        found = self._borrowers.of(name, need.flavor, beside=self.candidates.going)
        return [
            one
            for one in found
            if one != name
            and (self.candidates.going_of(one) or self._is_over(self._ledger, one, need.queue, columns))
            and any(self._is_free(it, columns) for it in self.candidates.of_other(need.claim, one, need.flavor))
        ]

    def _is_free(self, one: Candidate, columns: Iterable[Column]) -> bool:
        self.looked_at += 1
        return one.key not in self._away.victims and uses(one, columns)

    def _short(self, need: _Need) -> Sequence[Column]:
        """Return those columns of which there is too little quota; all of them where it is something else.

        Kueue's `frsNeedPreemption`: who uses or borrows only what is not short is in nobody's way.
        """
        usage, needs = self._ledger.usage, dict(need.kind.requests)
        found = [
            column
            for column in need.columns
            if self._tree.cell(need.queue.name, column) is not None
            and usage.available(need.queue.name, column).amount < needs[column[1]]
        ]
        return found or need.columns

    def _advantage(self, need: _Need, others: Iterable[str]) -> set[str]:
        """Return those queues that are outside a subtree that holds the workload within what it owns.

        The queue may borrow inside of it. This is the hierarchical advantage of Kueue: what such a subtree lent is its
        own again, whatever `borrowWithinCohort` says.
        """
        level = self._ledger.borrowing_level(need.queue, need.flavor, need.kind.requests)
        if not level:
            return set()  # then it is within its own quota, and all others are outside
        tree, above = self._tree, set(self._tree.path(need.queue.name))
        meets = {name: next(one for one in tree.path(name) if one in above) for name in others}
        return {name for name in others if tree.height(meets[name]) > level}

    def _is_under_nominal(self, need: _Need) -> bool:
        for column in need.columns:
            cell = self._tree.cell(need.queue.name, column)
            if cell is not None and self._ledger.usage.used(need.queue.name, *column) >= cell.subtree:
                return False
        return True

    # -- one attempt -----------------------------------------------------------------------------------------------

    def _search_gently(self, need: _Need, attempt: _Attempt) -> list[Candidate] | None:
        """Search; where several have to go, without those whose eviction was refused before.

        Else some would go for nothing each time that the others are refused.
        """
        found = self._search(need, attempt)
        if found is not None and sum(len(one.to_evict) for one in found) > 1 and any(one.was_refused for one in found):
            found = self._search(need, replace(attempt, spares_refused=True))
        if found is None:
            return None
        pods = [(pod, one.queue) for one in found for pod in one.to_evict]
        return found if self._returns.may_all_go(pods) else None

    def _search(self, need: _Need, attempt: _Attempt) -> list[Candidate] | None:
        with self._away.ahead(need.left) as ahead:
            victims = self._victims_of(ahead, need, attempt)
            return self._try(ahead, need.claim, need.kind, victims, may_borrow=attempt.may_borrow)

    def _try(
        self, ahead: AnyLedger, claim: Claim, kind: WorkloadClass, victims: Iterable[Candidate], *, may_borrow: bool
    ) -> list[Candidate] | None:
        """Take these away until the workload fits, and give back whom it does not need; None: it never fits.

        The ledger is as it was afterwards.
        """
        queue = claim.queue
        # more room never makes it worse for one pod in flavors that are tried in order,
        is_steady = kind.is_free and queue.mix is None and queue.flavor_mode is FlavorMode.ORDERED
        # but room in an earlier flavor may make it borrow there
        is_strict = not may_borrow and queue.when_can_borrow is WhenCanBorrow.MAY_STOP_SEARCH and len(queue.flavors) > 1
        away = Removals(
            partial(self._away.remove, ahead),
            partial(self._away.put_back, ahead),
            lambda: self._fits(ahead, queue, kind, may_borrow=may_borrow) is not None,
            lambda one: is_steady and not (is_strict and len({flavor for flavor, _ in one.columns}) > 1),
        )
        return [] if self._away.victims and away.suffice() else away.find(victims)

    def _victims_of(self, ahead: AnyLedger, need: _Need, attempt: _Attempt) -> Iterator[Candidate]:
        """Yield whom to take away next, each looked for once the one before is away."""
        strategies = self._tree.strategies(need.queue.name)
        if strategies:
            amounts = {(need.flavor, resource): amount for resource, amount in need.kind.requests}
            demand, now = Demand(need.queue.name, amounts), self._snapshot.now
            victims = FairVictims(self._tree, ahead.usage, self._shares(ahead), demand, now)
            yield from victims.take(self._in_fair_order(need, attempt), strategies)
            return
        own, columns = need.queue.name, need.columns
        lines = [self._line(need, attempt, columns, name) for name in (own, *attempt.others)]
        heads: list[tuple[Standing, Candidate, Iterator[Candidate]]] = []
        for line in lines:
            _line_up(heads, line, own, attempt.first)
        while heads:
            _, one, line = heappop(heads)
            # who goes anyway loses nothing by it, whatever its queue owns, and those come first; what a queue uses only
            # falls while others are taken away, so one that does not borrow now will not again
            if one.queue == own or one.is_going or self._is_over(ahead, one.queue, need.queue, columns):
                yield one
                _line_up(heads, line, own, attempt.first)

    def _line(self, need: _Need, attempt: _Attempt, columns: Sequence[Column], name: str) -> Iterator[Candidate]:
        """Yield those of one queue that may go, in order, as far as they are asked for."""
        claim, is_own = need.claim, name == need.queue.name
        of = self.candidates.own(claim, need.flavor) if is_own else self.candidates.of_other(claim, name, need.flavor)
        is_first = is_own or name in attempt.first
        for one in of:
            if attempt.takes_going and not one.is_going:
                return
            if not self._is_free(one, columns) or (attempt.spares_refused and one.was_refused):
                continue
            if is_first or one.is_going or _gives_way(claim, one, attempt.yields, self._snapshot.now):
                yield one

    def _in_fair_order(self, need: _Need, attempt: _Attempt) -> list[Candidate]:
        """Return all that may go where queues share by their shares: of others those that borrow what is short."""
        short = self._short(need)
        found = list(self._line(need, attempt, short, need.queue.name))
        for name in attempt.others:
            borrowed = [column for column in short if self._ledger.usage.borrows(name, [column])]
            found += self._line(need, attempt, borrowed, name)
        return sorted(found, key=lambda one: standing(one, need.queue.name))

    def _shares(self, ahead: AnyLedger) -> FairShares:
        known = self._shares_of.get(id(ahead.usage))
        if known is None:
            known = self._shares_of[id(ahead.usage)] = FairShares(self._tree, ahead.usage)
        return known

    def _is_over(self, ahead: AnyLedger, name: str, preemptor: ClusterQueue, columns: Sequence[Column]) -> bool:
        """Whether a queue, and all those above it that the preemptor is not below, use more than their own quota."""
        above_both = self._tree.path(preemptor.name)
        for one in self._tree.path(name):
            if one in above_both:
                return True
            if not ahead.usage.borrows(one, columns):
                return False
        return False

    def _fits(
        self, ahead: AnyLedger, queue: ClusterQueue, kind: WorkloadClass, *, may_borrow: bool
    ) -> Placements | None:
        self.tries += 1
        found = place(self._snapshot, ahead, queue, kind, only_freed=False)
        if isinstance(found, Wait):
            return None
        if not may_borrow:
            flavors = {flavor.name for one in found for flavor in (one.flavor, *one.also)}
            if any(ahead.borrowing_level(queue, flavor, kind.requests) for flavor in flavors):
                return None
        return found


def _line_up(
    heads: list[tuple[Standing, Candidate, Iterator[Candidate]]],
    line: Iterator[Candidate],
    own: str,
    first: Collection[str],
) -> None:
    """Let the next of a line stand among the heads of all."""
    one = next(line, None)
    if one is not None:
        heappush(heads, (standing(one, own, first), one, line))


def _gives_way(claim: Claim, one: Candidate, yields: _Yield, now: float) -> bool:
    """Whether one of another queue goes for a claim in an attempt where so many give way."""
    if yields is not _Yield.MILD:
        return yields is _Yield.ALL
    policy = claim.queue.preemption
    is_lower = one.priority < claim.priority and (policy.threshold is None or one.priority <= policy.threshold)
    return policy.borrows and is_lower and not is_left_in_peace(one.to_evict, borrows=True, now=now)
