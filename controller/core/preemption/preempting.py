"""Preempting for a workload that cannot go in: on which flavor, by whose going, and what is held for it meanwhile.

Until they are gone the workload's demand is held: nobody behind it gets what they leave.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from controller.core.candidates.candidate import Candidate
from controller.core.candidates.reclaimable import KnownReclaimable
from controller.core.fitting.placement import Placements, place, places
from controller.core.fitting.unlike_sets import Onto, UnlikeSets
from controller.core.ledgers.booked import AnyLedger
from controller.core.ledgers.ledger import Ledger
from controller.core.preemption.claims import claims, contested_flavors, ways
from controller.core.preemption.eligibility import Claim
from controller.core.preemption.rounds import led_to
from controller.core.preemption.short_columns import demand_of
from controller.core.preemption.victim_search import VictimSearch
from controller.core.queueing.queues import ClusterQueue, WhenCanBorrow
from controller.core.reasons import Reason, waits_for
from controller.core.snapshot import Snapshot
from controller.core.workloads.decisions import Evict, EvictionCause, FlavorNode, Wait
from controller.core.workloads.workload import Workload, WorkloadClass

_Found = tuple[Claim, list[Candidate], Onto]
"""On whose account, whom, and so that its sets go onto which flavors."""


_Find = Callable[[Claim, Onto], list[Candidate] | None]
"""Says whom to preempt on this account, its sets going onto these flavors."""


class Preempting:
    """The preemptions of one decision. `evicts` are those to be sent, each time for one; others go already."""

    def __init__(self, snapshot: Snapshot, ledger: Ledger) -> None:
        self._snapshot = snapshot
        self._returns = snapshot.returns()
        self.search = VictimSearch(snapshot, ledger, self._returns)
        self.unlike = UnlikeSets(snapshot, ledger)
        self._ledger = ledger
        self._state: tuple[int, int, AnyLedger] | None = None
        self._found: dict[str, _Found | None] = {}
        """What was found in this state: how much was charged, for how many others go, and in what is left."""
        self._hopeless: set[str] = set()
        """Workloads that nobody can be preempted for."""
        self._preferred: dict[str, _Found] = {}
        """What was found for a workload that could have a later flavor."""
        self._tries_later_flavor: set[tuple[WorkloadClass, int]] = set()
        """Classes, with a priority, for which nobody goes in an earlier flavor; who comes later has no better claim."""
        self.preemptors: dict[str, int] = {}
        """As `Plan` has them."""
        self.placed: dict[str, Placements] = {}
        """By workload where what is held for it is."""
        self.evicts: list[tuple[Evict, ...]] = []
        self.put_off: set[str] = set()
        """Workloads for which nobody may be evicted yet, since enough others are to be."""

    def end(self) -> Sequence[tuple[Evict, ...]]:
        """Return those that have to be sent; nothing is searched for any more."""
        self.search.reclaimable_index.close()
        return self.evicts

    @property
    def held(self) -> dict[str, Counter[FlavorNode]]:
        """What is held for whom, as `Plan` has it."""
        return {uid: places(placed) for uid, placed in self.placed.items()}

    def make_room(self, queue: ClusterQueue, workload: Workload, wait: Wait, left: AnyLedger) -> Wait | None:
        """Preempt for a workload that cannot be admitted for this reason; None where that would not help, or not yet.

        `left` is what it may take: beside reservations of others no more than their time leaves.

        The flavors are tried in the queue's order. Nobody goes for a user who is at a limit of their own, nor for a
        workload whose release was refused before and may be again.
        """
        found = self.find(queue, workload, wait, left)
        return None if found is None else self._take(workload, *found, left)

    def find(self, queue: ClusterQueue, workload: Workload, wait: Wait, left: AnyLedger) -> _Found | None:
        """Say whom to preempt for it, and on which flavor; None: nobody, nor later in this decision."""
        if not queue.preemption.is_any or any(one.reason is Reason.USER_LIMIT for one in wait.blockers):
            return None
        if workload.uid in self._hopeless or self._is_rejected(workload):
            return None
        found = self._preferred.pop(workload.uid, None)
        if found is None and not self.looks_in(queue):
            return None
        if not self._is_too_early(workload):
            found = found or self._found_just_now(queue, workload, wait, left)
            if found is None:
                self._hopeless.add(workload.uid)
            return found
        if found is None or any(one.to_evict for one in found[1]):
            found = self._among_going(queue, workload, wait, left)
        if found is None and contested_flavors(queue, wait):
            self.put_off.add(workload.uid)
        return found

    def looks_in(self, queue: ClusterQueue) -> bool:
        """Whether this decision looks for pods to preempt for the workloads of a queue."""
        roots = self._snapshot.waiting.preempts_in
        return queue.preemption.is_any and (roots is None or self._snapshot.queues.tree.path(queue.name)[-1] in roots)

    def _is_rejected(self, workload: Workload) -> bool:
        return any(uid in self._snapshot.waiting.rejected for uid in workload.pods)

    def _is_too_early(self, workload: Workload) -> bool:
        """Whether nobody may be evicted for it yet: as many are to be by now as may be at once.

        What is found for more is not acted upon, and it would be looked for in each decision until all those are gone.
        """
        enough = self._snapshot.running.leaving.evictions_left
        return sum(map(len, self.evicts)) >= enough and workload.uid not in self._snapshot.waiting.preemptors

    def _among_going(self, queue: ClusterQueue, workload: Workload, wait: Wait, left: AnyLedger) -> _Found | None:
        """Say which of those that go anyway it needs gone, and on which flavor; None: they are too few."""
        if not self.search.is_any_going:
            return None
        find = self.search.find_going
        asked = self._claims(queue, workload, wait)
        return _first(asked, lambda claim, onto: find(claim, workload.kind, onto, left))

    def _claims(self, queue: ClusterQueue, workload: Workload, wait: Wait) -> Iterator[tuple[Claim, Onto]]:
        return claims(self.search.candidates, queue, workload, ways(self.unlike, queue, workload.kind, wait))

    def _found_just_now(self, queue: ClusterQueue, workload: Workload, wait: Wait, left: AnyLedger) -> _Found | None:
        """Find, or return what was found since anything was taken last: who is nominated often has the turn at once."""
        state = self._ledger.charges, len(self.preemptors), left
        if self._state != state:
            self._state = state
            self._found.clear()
        if workload.uid not in self._found:
            self._found[workload.uid] = self._find(queue, workload, wait, left)
        return self._found[workload.uid]

    def would_evict(self, queue: ClusterQueue, workload: Workload, wait: Wait, left: Ledger) -> bool:
        """Say whether anybody would be evicted for a workload that waits so, were no more left than this.

        `left` is a fork of the decision's ledger: nothing of this is remembered.
        """
        seen = self._snapshot
        waiting, memo = replace(seen.waiting, preempts_in=None), replace(seen.memo, reclaimable=KnownReclaimable())
        alone = replace(seen, waiting=waiting, memo=memo)
        other = Preempting(alone, left)
        other.search.leave_out(self.search)
        found = other.find(queue, workload, wait, left)
        other.end()
        return found is not None and any(one.to_evict for one in found[1])

    def prefer_preemption(
        self, queue: ClusterQueue, workload: Workload, found: Placements | Wait, left: AnyLedger
    ) -> Placements | Wait:
        """Return why a workload waits that could have a later flavor, where others go for it in an earlier one.

        Mirrors where Kueue's flavor assignment stops with `whenCanPreempt: MayStopSearch`. Where it would borrow in
        that earlier flavor, and its queue rather tries the next one then, nobody goes.
        """
        last = _last_of(queue, found)
        if not last or workload.uid in self._hopeless or self._is_rejected(workload):
            return found
        alike = (workload.kind, self.search.candidates.claim(queue, workload).priority)
        if alike in self._tries_later_flavor:
            return found
        may_borrow = queue.when_can_borrow is WhenCanBorrow.MAY_STOP_SEARCH
        while last:
            earlier = replace(queue, flavors=queue.flavors[:last])
            there = place(self._snapshot, left, earlier, workload.kind)
            if isinstance(there, Wait):
                # in these flavors alone: for a gang that would go onto the same ones others would go in vain, and again
                victims = self._find(earlier, workload, there, left, may_borrow=may_borrow)
                if victims is None:
                    self._tries_later_flavor.add(alike)
                    return found
                self._preferred[workload.uid] = victims
                return there
            last = _last_of(queue, there)
        return found

    def _find(
        self, queue: ClusterQueue, workload: Workload, wait: Wait, left: AnyLedger, *, may_borrow: bool = True
    ) -> _Found | None:
        begun = self._resume(queue, workload, wait, left, may_borrow=may_borrow)
        if begun is not None:
            return begun
        find, asked = partial(self.search.find, may_borrow=may_borrow), self._claims(queue, workload, wait)
        if queue.preempts_first:
            return _first(asked, lambda claim, onto: find(claim, workload.kind, onto, left))
        return self._cheapest(asked, lambda claim, onto: find(claim, workload.kind, onto, left), workload.kind, left)

    def _cheapest(
        self, asked: Iterable[tuple[Claim, Onto]], find: _Find, kind: WorkloadClass, left: AnyLedger
    ) -> _Found | None:
        """Return what is found in the flavors where it costs least: nobody more, then nobody of its own queue.

        Of those that cost the same it is where the workload borrows from less far up the tree, then the first. Mirrors
        `isPreferred` of Kueue's flavor assignment: reclaiming before preempting.
        """
        best: tuple[tuple[int, int], _Found] | None = None
        for claim, onto in asked:
            victims = find(claim, onto)
            if victims is None:
                continue
            rank = _cost(claim, victims), _borrows(left, claim.queue, kind, onto)
            if best is None or rank < best[0]:
                best = rank, (claim, victims, onto)
            if not any(rank):
                break
        return None if best is None else best[1]

    def _resume(
        self, queue: ClusterQueue, workload: Workload, wait: Wait, left: AnyLedger, *, may_borrow: bool
    ) -> _Found | None:
        """Say who of those that go already is needed by who has begun: nobody is compared with it anew then.

        Members of a gang go one after the other. By policies and shares as they are in between it might give up, and
        all would have gone for nothing.
        """
        if not self._snapshot.waiting.preemptors.get(workload.uid):
            return None
        asked = [claim for claim, _ in self._claims(queue, workload, wait)]
        claim = asked[-1] if asked else self.search.candidates.claim(queue, workload)
        found = self.search.among_going(claim, workload.kind, left, may_borrow=may_borrow)
        return None if found is None else (claim, *found)

    def _take(self, workload: Workload, claim: Claim, victims: list[Candidate], onto: Onto, left: AnyLedger) -> Wait:
        """Preempt these: evict those that do not go yet, and hold what the workload needs."""
        pods = [pod for one in victims for pod in one.pods]
        begun = self._snapshot.waiting.preemptors.get(workload.uid, 0)
        self.preemptors[workload.uid] = max(begun, led_to(pods, self._snapshot.now)) if pods else begun
        self.placed[workload.uid] = self.search.take(claim, workload.kind, victims, left)
        to_evict = [(pod, one) for one in victims for pod in one.to_evict]
        for pod, _ in to_evict:
            self._returns.take(pod)
        if to_evict:
            cause, whose = EvictionCause.PREEMPTED, claim.queue.name
            self.evicts.append(
                tuple(Evict(pod, cause, _told(claim, one), one.together, whose) for pod, one in to_evict)
            )
        flavors = list(dict.fromkeys(onto))
        where = f"flavor{'s' * (len(flavors) > 1)} {' and '.join(flavors)}: " if any(flavors) else ""
        # what those that go for others leave may be enough for it too
        text = waits_for(len(pods), has_begun=bool(self.preemptors[workload.uid]))
        return Wait(Reason.PREEMPTING, f"{where}{text}")


def _first(asked: Iterable[tuple[Claim, Onto]], find: _Find) -> _Found | None:
    """Return what is found in the first of these flavors in which anything is; those behind it are not searched."""
    for claim, onto in asked:
        victims = find(claim, onto)
        if victims is not None:
            return claim, victims, onto
    return None


def _cost(claim: Claim, victims: Iterable[Candidate]) -> int:
    """Return 0 where nobody is evicted for it who does not go anyway, 1 where only others' are, 2 where its own are."""
    evicted = [one.queue for one in victims if not one.is_going]
    return 2 if claim.queue.name in evicted else min(1, len(evicted))


def _borrows(left: AnyLedger, queue: ClusterQueue, kind: WorkloadClass, onto: Onto) -> int:
    """Return how far up the tree a workload borrows that goes there."""
    demand = demand_of(kind, onto)
    levels = [
        left.borrowing_level(queue, flavor, tuple([(one[1], need) for one, need in demand.items() if one[0] == flavor]))
        for flavor in {*onto}
    ]
    return max(levels, default=0)


def _last_of(queue: ClusterQueue, found: Placements | Wait) -> int:
    """Return which of the queue's flavors, counted from 0, is the last that a workload would be placed in."""
    names = set() if isinstance(found, Wait) else {one.flavor.name for one in found}
    return max((number for number, quota in enumerate(queue.flavors) if quota.flavor in names), default=0)


def _told(claim: Claim, one: Candidate) -> str:
    """Say who preempts, but no name that the owner of the pod may not be allowed to see."""
    if one.queue == claim.queue.name:
        return (
            f"for a workload of priority {claim.priority} in its ClusterQueue {one.queue}; this one has {one.priority}"
        )
    return f"for a workload of ClusterQueue {claim.queue.name}, from what {one.queue} borrowed"
