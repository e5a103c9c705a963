"""Finding whom to preempt for a workload: the search of Kueue's classical preemption, on the ledger of a decision.

Candidates are taken away in order until the workload fits, then given back in reverse as far as it fits without them.
What is found is no minimum, but none of them could have stayed. Until they are gone the workload's demand is held:
nobody behind it gets what they leave.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from controller.core.booked import AnyLedger
from controller.core.decisions import Evict, EvictionCause, Wait
from controller.core.fair_preempting import Demand, FairVictims
from controller.core.fair_sharing import FairShares
from controller.core.ledger import Ledger
from controller.core.placement import Placements, place
from controller.core.pods import Pod
from controller.core.preemption import Candidate, Candidates, Claim, in_order, uses
from controller.core.queues import ClusterQueue, Flavor, WhenCanBorrow
from controller.core.quota_tree import Column
from controller.core.reasons import Reason
from controller.core.returns import Returns
from controller.core.settled import contested
from controller.core.snapshot import Snapshot
from controller.core.workloads import Workload, WorkloadClass

_Attempt = tuple[list[Candidate], bool]
"""Whom to take from, in order, and whether the workload may borrow then."""


_Found = tuple[Claim, list[Candidate], str]
"""On whose account, whom, and in which flavor."""


class Preempting:
    """The preemptions of one decision. `evicts` are those that have to be sent; others go already.

    What finding them cost: `looked_at` counts the candidates that were compared with a workload, `tries` how often it
    was seen whether one fits.
    """

    def __init__(self, snapshot: Snapshot, ledger: Ledger) -> None:
        self._snapshot = snapshot
        self._ledger = ledger
        self._left: AnyLedger = ledger
        self._returns = Returns(snapshot)
        self._candidates = Candidates(snapshot, self._returns)
        self._shares = FairShares(snapshot.tree, ledger.usage)
        self._victims: dict[str, Candidate] = {}
        self._hopeless: set[str] = set()
        """Workloads that nobody can be preempted for."""
        self._rather: dict[str, _Found] = {}
        """What was found for a workload that could have a later flavor."""
        self._goes_on: set[tuple[WorkloadClass, int]] = set()
        """Classes, with a priority, for which nobody goes in an earlier flavor; who comes later has no better claim."""
        self.evicts: list[Evict] = []
        self.looked_at = 0
        self.tries = 0

    def make_room(self, queue: ClusterQueue, workload: Workload, wait: Wait, left: AnyLedger) -> Wait | None:
        """Preempt for a workload that cannot be admitted for this reason; None where that would not help.

        `left` is what it may take: beside reservations of others no more than their time leaves.

        The flavors are tried in the queue's order. Nobody goes for a user who is at a limit of their own, nor for a
        workload whose release was refused before and may be again.
        """
        found = self.find(queue, workload, wait, left)
        return None if found is None else self._take(workload.kind, *found)

    def find(self, queue: ClusterQueue, workload: Workload, wait: Wait, left: AnyLedger) -> _Found | None:
        """Say whom to preempt for it, and on which flavor; None: that would not help, nor later in this decision."""
        if not queue.preemption.is_any or any(one.reason is Reason.USER_LIMIT for one in wait.blockers):
            return None
        if workload.uid in self._hopeless or any(uid in self._snapshot.rejected for uid in workload.pods):
            return None
        self._left = left
        found = self._rather.pop(workload.uid, None) or self._find(queue, workload, wait)
        if found is None:
            self._hopeless.add(workload.uid)
        return found

    def rather(
        self, queue: ClusterQueue, workload: Workload, found: Placements | Wait, left: AnyLedger
    ) -> Placements | Wait:
        """Return why a workload waits that could have a later flavor, where others go for it in an earlier one.

        Mirrors where Kueue's flavor assignment stops with `whenCanPreempt: MayStopSearch`. Where it would borrow in
        that earlier flavor, and its queue rather tries the next one then, nobody goes.
        """
        last = _last_of(queue, found)
        if not last or workload.uid in self._hopeless or any(uid in self._snapshot.rejected for uid in workload.pods):
            return found
        alike = (workload.kind, self._candidates.claim(queue, workload).priority)
        if alike in self._goes_on:
            return found
        self._left = left
        may_borrow = queue.when_can_borrow is WhenCanBorrow.MAY_STOP_SEARCH
        while last:
            earlier = replace(queue, flavors=queue.flavors[:last])
            there = place(self._snapshot, left, earlier, workload.kind, only_freed=False)
            if isinstance(there, Wait):
                victims = self._find(queue, workload, there, may_borrow=may_borrow)
                if victims is None:
                    self._goes_on.add(alike)
                    return found
                self._rather[workload.uid] = victims
                return there
            last = _last_of(queue, there)
        return found

    def _find(self, queue: ClusterQueue, workload: Workload, wait: Wait, *, may_borrow: bool = True) -> _Found | None:
        claim, kind = self._candidates.claim(queue, workload), workload.kind
        for flavor in _contested(queue, wait):
            if queue.preempts_first:
                claim = replace(claim, queue=_up_to(queue, flavor))
            columns = [(flavor, resource) for resource, _ in kind.requests]
            for candidates, may_then in self._attempts(claim, kind, columns):
                may_so = may_then and may_borrow
                victims = self._search_gently(claim, kind, candidates, columns, may_borrow=may_so)
                if victims is not None:
                    return claim, victims, flavor
        return None

    def _attempts(self, claim: Claim, kind: WorkloadClass, columns: Sequence[Column]) -> list[_Attempt]:
        """Mirrors the attempts of Kueue's `GetTargets`, but who goes anyway counts first alone, and then in each."""

        def free(found: Candidate) -> bool:
            self.looked_at += 1
            return found.key not in self._victims and uses(found, columns)

        own = list(filter(free, self._candidates.own(claim)))
        others = list(filter(free, self._candidates.of_others(claim)))
        name, policy = claim.queue.name, claim.queue.preemption
        if self._snapshot.tree.strategies(name):
            short = self._short(claim.queue, kind, columns)
            own = [one for one in own if uses(one, short)]
            others = [one for one in others if any(self._borrows(one.queue, [c]) and uses(one, [c]) for c in short)]
            return [(in_order([*own, *others], name), True)]
        if not others:
            return [(in_order(own, name), True)]
        going = [one for one in others if one.is_going]
        attempts: list[_Attempt] = []
        if going:
            attempts.append((in_order([*going, *(one for one in own if one.is_going)], name), True))
        first = self._advantage(claim.queue, kind, columns[0][0], others)
        if first or policy.borrows:
            theirs = [
                one
                for one in others
                if one.is_going or one.key in first or (policy.borrows and self._may_borrow_from(claim, one))
            ]
            attempts.append((in_order([*own, *theirs], name, first), True))
        if self._is_under_nominal(claim.queue, columns):
            attempts.append((in_order([*own, *others], name), False))
        attempts.append((in_order([*own, *going], name), True))
        return attempts

    def _short(self, queue: ClusterQueue, kind: WorkloadClass, columns: Sequence[Column]) -> Sequence[Column]:
        """Return those columns of which there is too little quota; all of them where it is something else.

        Kueue's `frsNeedPreemption`: who uses or borrows only what is not short is in nobody's way.
        """
        tree, usage, needs = self._snapshot.tree, self._ledger.usage, dict(kind.requests)
        found = [
            column
            for column in columns
            if tree.cell(queue.name, column) is not None
            and usage.available(queue.name, column).amount < needs[column[1]]
        ]
        return found or columns

    def _advantage(
        self, queue: ClusterQueue, kind: WorkloadClass, flavor: str, others: Iterable[Candidate]
    ) -> set[str]:
        """Return the keys of those outside a subtree that holds the workload within what it owns.

        The queue may borrow inside of it. This is the hierarchical advantage of Kueue: what such a subtree lent is its
        own again, whatever `borrowWithinCohort` says.
        """
        level = self._ledger.borrowing_level(queue, flavor, kind.requests)
        tree, above = self._snapshot.tree, set(self._snapshot.tree.path(queue.name))
        if not level:
            return set()  # then it is within its own quota, and all others are outside
        meets = {name: next(one for one in tree.path(name) if one in above) for name in {one.queue for one in others}}
        return {one.key for one in others if tree.height(meets[one.queue]) > level}

    def _may_borrow_from(self, claim: Claim, one: Candidate) -> bool:
        threshold = claim.queue.preemption.threshold
        return one.priority < claim.priority and (threshold is None or one.priority <= threshold)

    def _is_under_nominal(self, queue: ClusterQueue, columns: Sequence[Column]) -> bool:
        for column in columns:
            cell = self._snapshot.tree.cell(queue.name, column)
            if cell is not None and self._ledger.usage.used(queue.name, *column) >= cell.subtree:
                return False
        return True

    def _search_gently(
        self,
        claim: Claim,
        kind: WorkloadClass,
        candidates: list[Candidate],
        columns: Sequence[Column],
        *,
        may_borrow: bool,
    ) -> list[Candidate] | None:
        """Search; where several have to go, without those whose eviction was refused before.

        Else some would go for nothing each time that the others are refused.
        """
        found = self._search(claim, kind, candidates, columns, may_borrow=may_borrow)
        if found is not None and sum(len(one.to_evict) for one in found) > 1 and any(one.was_refused for one in found):
            rest = [one for one in candidates if not one.was_refused]
            found = self._search(claim, kind, rest, columns, may_borrow=may_borrow)
        if found is None:
            return None
        pods = [(pod, one.queue) for one in found for pod in one.to_evict]
        return found if self._returns.may_all_go(pods) else None

    def _search(
        self,
        claim: Claim,
        kind: WorkloadClass,
        candidates: list[Candidate],
        columns: Sequence[Column],
        *,
        may_borrow: bool,
    ) -> list[Candidate] | None:
        """Take candidates away until the workload fits, and give back whom it does not need; None: it never fits.

        Those that go for others are away already, and what those others need is spent. The ledger is as it was
        afterwards.
        """
        removed: list[Candidate] = []
        with self._without(self._victims.values()):
            fits = self._fits(claim.queue, kind, may_borrow=may_borrow) is not None if self._victims else False
            for one in self._victims_of(claim.queue, kind, candidates, columns) if not fits else ():
                self._remove(one)
                removed.append(one)
                fits = self._fits(claim.queue, kind, may_borrow=may_borrow) is not None
                if fits:
                    break
            needed = list(removed)
            for one in reversed(removed[:-1]) if fits else ():
                self._put_back(one)
                if self._fits(claim.queue, kind, may_borrow=may_borrow) is not None:
                    needed.remove(one)
                else:
                    self._remove(one)
            for one in needed:
                self._put_back(one)
        return needed if fits else None

    def _victims_of(
        self, queue: ClusterQueue, kind: WorkloadClass, candidates: list[Candidate], columns: Sequence[Column]
    ) -> Iterator[Candidate]:
        """Yield whom to take away next, each looked for once the one before is away."""
        strategies = self._snapshot.tree.strategies(queue.name)
        if strategies:
            amounts = {(columns[0][0], resource): need for resource, need in kind.requests}
            demand = Demand(queue.name, amounts)
            victims = FairVictims(self._snapshot.tree, self._ledger.usage, self._shares, demand)
            yield from victims.take(candidates, strategies)
            return
        for one in candidates:
            # who goes anyway loses nothing by it, whatever its queue owns
            if one.queue == queue.name or one.is_going or self._is_over(one.queue, queue, columns):
                yield one

    @contextmanager
    def _without(self, gone: Iterable[Candidate]) -> Iterator[None]:
        """Try what would be if these were gone."""
        with self._ledger.trying():
            for one in gone:
                self._remove(one)
            try:
                yield
            finally:
                for one in gone:
                    self._put_back(one)

    def _is_over(self, name: str, preemptor: ClusterQueue, columns: Sequence[Column]) -> bool:
        """Whether a queue, and all those above it that the preemptor is not below, use more than their own quota."""
        above_both = set(self._snapshot.tree.path(preemptor.name))
        for one in self._snapshot.tree.path(name):
            if one in above_both:
                return True
            if not self._borrows(one, columns):
                return False
        return False

    def _borrows(self, name: str, columns: Sequence[Column]) -> bool:
        cells = ((column, self._snapshot.tree.cell(name, column)) for column in columns)
        return any(cell is not None and self._ledger.usage.used(name, *col) > cell.subtree for col, cell in cells)

    def _fits(self, queue: ClusterQueue, kind: WorkloadClass, *, may_borrow: bool) -> Placements | None:
        self.tries += 1
        found = place(self._snapshot, self._left, queue, kind, only_freed=False)
        if isinstance(found, Wait):
            return None
        if not may_borrow:
            flavors = {flavor.name for one in found for flavor in (one.flavor, *one.also)}
            if any(self._ledger.borrowing_level(queue, flavor, kind.requests) for flavor in flavors):
                return None
        return found

    def _remove(self, one: Candidate) -> None:
        for pod in one.pods:
            flavor, also = self._held(pod)
            self._ledger.give_back(one.queue, flavor, pod.shape.requests, self._node(pod), also)

    def _put_back(self, one: Candidate) -> None:
        for pod in one.pods:
            flavor, also = self._held(pod)
            self._ledger.spend(one.queue, flavor, pod.shape.requests, self._node(pod), also)

    def _held(self, pod: Pod) -> tuple[Flavor, list[Flavor]]:
        """The flavor that pays for a pod, and those that hold quota for it too."""
        flavors = self._snapshot.flavors
        return flavors[pod.flavor or ""], [flavors[name] for name in pod.also if name in flavors]

    def _node(self, pod: Pod) -> str | None:
        node = None if pod.uid in self._snapshot.overdue else pod.node or pod.pinned
        return node if node in self._snapshot.nodes.nodes else None

    def _take(self, kind: WorkloadClass, claim: Claim, victims: list[Candidate], flavor: str) -> Wait:
        """Preempt these: evict those that do not go yet, and hold what the workload needs."""
        with self._without([*self._victims.values(), *victims]):
            found = self._fits(claim.queue, kind, may_borrow=True) or ()
        shapes = [one.shape for one in kind.pod_sets for _ in range(one.count)]
        for shape, placed in zip(shapes, found, strict=True):
            self._left.spend(claim.queue.name, placed.flavor, shape.requests, placed.node, placed.also)
            if not placed.flavor.is_spot:
                self._ledger.await_on_demand(claim.queue.name)
        for one in victims:
            self._victims[one.key] = one
            for pod in one.to_evict:
                self._returns.take(pod)
                self.evicts.append(Evict(pod, EvictionCause.PREEMPTED, _told(claim, one)))
        count = sum(len(one.pods) for one in victims)
        where = f"flavor {flavor}: " if flavor else ""
        # what those that go for others leave may be enough for it too
        who = f"{count} preempted pod{'s' * (count > 1)}" if count else "preempted pods"
        return Wait(Reason.PREEMPTING, f"{where}waits for {who} to go")


def _last_of(queue: ClusterQueue, found: Placements | Wait) -> int:
    """Return which of the queue's flavors, counted from 0, is the last that a workload would be placed in."""
    names = set() if isinstance(found, Wait) else {one.flavor.name for one in found}
    return max((number for number, quota in enumerate(queue.flavors) if quota.flavor in names), default=0)


def _up_to(queue: ClusterQueue, flavor: str) -> ClusterQueue:
    """Return the queue as if this flavor were its last: in those behind it nobody has to go."""
    names = [quota.flavor for quota in queue.flavors]
    return replace(queue, flavors=queue.flavors[: names.index(flavor) + 1])


def _contested(queue: ClusterQueue, wait: Wait) -> list[str]:
    """The flavors in which others are in the way, in order; all of them where a limit over all is."""
    found = contested(wait)
    return [quota.flavor for quota in queue.flavors if quota.flavor in found or "" in found]


def _told(claim: Claim, one: Candidate) -> str:
    """Say who preempts, but no name that the owner of the pod may not be allowed to see."""
    if one.queue == claim.queue.name:
        return (
            f"for a workload of priority {claim.priority} in its ClusterQueue {one.queue}; this one has {one.priority}"
        )
    return f"for a workload of ClusterQueue {claim.queue.name}, from what {one.queue} borrowed"
