"""Who of each queue is asked, in order, to go for a workload; and by which shares, where these decide."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from controller.core.candidates.candidate import Candidate, candidate_rank, uses
from controller.core.ledgers.booked import AnyLedger
from controller.core.ledgers.ledger import Ledger
from controller.core.ledgers.simulation import Simulation
from controller.core.preemption.attempts import Attempt, Need
from controller.core.preemption.eligibility import Candidates
from controller.core.preemption.fair_preempting import FairVictims
from controller.core.preemption.short_columns import demand_of
from controller.core.quota.fair_sharing import Demand, FairShares
from controller.core.quota.quota_tree import Column
from controller.core.quota.tree_usage import TreeUsage
from controller.core.snapshot import Snapshot


class VictimLines:
    """The lines of one decision. `compared` counts how many candidates were compared with a workload."""

    def __init__(self, snapshot: Snapshot, ledger: Ledger, candidates: Candidates, simulation: Simulation) -> None:
        self._snapshot = snapshot
        self._tree = snapshot.queues.tree
        self._ledger = ledger
        self._candidates = candidates
        self._simulation = simulation
        self._shares_of: dict[tuple[int, str], tuple[FairShares, int, int]] = {}
        """By usage and tree, with how much of what moved there is taken in."""
        self.compared = 0

    def own(self, need: Need, attempt: Attempt) -> Iterator[Candidate]:
        """Yield those of the preemptor's own queue that may go."""
        return self.of(need, attempt, need.columns, need.queue.name)

    def of(self, need: Need, attempt: Attempt, columns: Sequence[Column], name: str) -> Iterator[Candidate]:
        """Yield those of one queue that may go, in order, as far as they are asked for."""
        for one in self._asked(need, name):
            if attempt.takes_going and not one.is_going:
                return
            if self._is_free(one, columns) and not (attempt.spares_refused and one.was_refused):
                yield one

    def _asked(self, need: Need, name: str) -> Iterator[Candidate]:
        """Yield those of one queue that its policy names in any of the flavors, in order."""
        claim, is_own = need.claim, name == need.queue.name
        if len(need.flavors) == 1:
            flavor = need.flavor
            return self._candidates.own(claim, flavor) if is_own else self._candidates.of_other(claim, name, flavor)
        of = self._candidates.own if is_own else partial(self._candidates.of_other, queue=name)
        found = {one.key: one for flavor in need.flavors for one in of(claim, flavor=flavor)}
        return iter(sorted(found.values(), key=lambda one: candidate_rank(one, need.queue.name)))

    def _is_free(self, one: Candidate, columns: Iterable[Column]) -> bool:
        self.compared += 1
        if one.is_going and self._simulation.pods.issuperset(pod.uid for pod in one.pods):
            return False  # alone, or with all of its gang
        return one.key not in self._simulation.victims and uses(one, columns)

    def going(self, need: Need, attempt: Attempt) -> list[Candidate]:
        """Return those of the tree that go anyway, in order: whatever the shares, what they leave is free."""
        if not self._candidates.going:
            return []
        own, going = need.queue.name, replace(attempt, takes_going=True)
        names = (name for name in self._candidates.going if self._tree.path(name)[-1] == self._tree.path(own)[-1])
        found = (one for name in names for one in self.of(need, going, need.columns, name))
        return sorted(found, key=lambda one: candidate_rank(one, own))

    def by_share(self, need: Need, attempt: Attempt, usage: TreeUsage, name: str) -> Iterator[Candidate]:
        """Yield those of a queue that shares may let go: of others those that have what they borrow of it.

        `usage` is without those that go: what these have is not borrowed any more.
        """
        columns: Sequence[Column] = need.columns
        if name != need.queue.name:
            columns = [column for column in columns if usage.borrows(name, [column])]
        if columns:
            for one in self.of(need, attempt, columns, name):
                if not one.is_going:
                    yield one

    def shares(self, simulated: AnyLedger, queue: str) -> FairShares:
        """Return the shares in a queue's tree while nobody is tried on."""
        root = self._tree.path(queue)[-1]
        charged, victims = self._ledger.charged_in(root), self._simulation.queues_in(root)
        key = (id(simulated.usage), root)
        known = self._shares_of.get(key)
        if known is None:
            base = self._snapshot.memo.shares.of(self._tree, self._snapshot.usage.in_tree)
            known = self._shares_of[key] = FairShares(self._tree, simulated.usage, base), 0, 0
        shares, seen, gone = known
        if len(charged) > seen or len(victims) > gone:
            shares.forget({*charged[seen:], *victims[gone:]})
            self._shares_of[key] = shares, len(charged), len(victims)
        return shares

    def fair_victims(self, simulated: AnyLedger, need: Need) -> FairVictims:
        """Return whom shares let go for a workload, of those in what is left."""
        amounts = demand_of(need.kind, need.onto)
        demand, shares = Demand(need.queue.name, tuple(amounts.items())), self.shares(simulated, need.queue.name)
        own = {column: amount for column, amount in amounts.items() if column in need.short.own}
        # of several flavors it is not known what each has at least
        of_one = partial(self._candidates.least, flavor=need.flavor)
        least_of = of_one if len(need.flavors) == 1 else _nothing_known
        return FairVictims(self._tree, simulated.usage, shares, demand, own, self._snapshot.now, least_of)


def _nothing_known(queue: str) -> Mapping[Column, int]:
    return {}
