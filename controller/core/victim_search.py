"""Finding whom to preempt for a workload: the search of Kueue's classical preemption, on the ledger of a decision.

Candidates are taken away in order until the workload fits, then given back in reverse as far as it fits without them.
What is found is no minimum, but none of them could have stayed.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from heapq import merge

from controller.core.attempts import Attempt, Attempts, Need
from controller.core.away import Away
from controller.core.booked import AnyLedger
from controller.core.candidates import Candidate, standing, uses
from controller.core.decisions import Wait
from controller.core.fair_preempting import Demand, FairVictims
from controller.core.fair_sharing import FairShares
from controller.core.giving_way import giving_way
from controller.core.ledger import Ledger
from controller.core.looked_at import LookedAt
from controller.core.offers import Offers
from controller.core.one_node import OneNode
from controller.core.placement import Placements, place
from controller.core.preemption import Candidates, Claim
from controller.core.queues import ClusterQueue, FlavorMode, WhenCanBorrow
from controller.core.quota_tree import Column
from controller.core.removals import Removals
from controller.core.returns import Returns
from controller.core.snapshot import Snapshot
from controller.core.tree_usage import TreeUsage
from controller.core.workloads import WorkloadClass


class VictimSearch:
    """The searches of one decision. Who was found goes (`take`), and is away for all that are searched for later.

    `tries` counts how often it was seen whether a workload fits.
    """

    def __init__(self, snapshot: Snapshot, ledger: Ledger, returns: Returns, looked_at: LookedAt) -> None:
        """To those looked at for freed room other nodes than `snapshot.freed` were no use before, and are none now."""
        self._snapshot = snapshot
        self._tree = snapshot.tree
        self._ledger = ledger
        self._returns = returns
        self.candidates = Candidates(snapshot, returns)
        self._shares_of: dict[tuple[int, str], tuple[FairShares, int, int]] = {}
        """By usage and tree, with how much of what moved there is taken in."""
        self._away = Away(snapshot, ledger)
        self.offers = Offers(snapshot, ledger, self.candidates, self._away)
        self._attempts = Attempts(snapshot.tree, ledger, self.candidates, self.offers)
        self._look = looked_at
        self._compared = 0
        self.tries = 0

    @property
    def looked_at(self) -> int:
        """How many candidates were compared with a workload."""
        return self._compared + self.offers.compared

    def find(
        self, claim: Claim, kind: WorkloadClass, flavor: str, left: AnyLedger, *, may_borrow: bool
    ) -> list[Candidate] | None:
        """Say who has to go so that a workload fits this flavor; None: that would not help."""
        need = self._need(claim, kind, flavor, left)
        for attempt in self._attempts.of(need, is_any_away=bool(self._away.victims)):
            tried = replace(attempt, may_borrow=attempt.may_borrow and may_borrow)
            victims = self._search_gently(need, tried)
            if victims is not None:
                return victims
        return None

    def may_help(self, claim: Claim, kind: WorkloadClass, flavor: str, left: AnyLedger) -> bool:
        """Say whether anybody may go for a workload in this flavor; where shares do not decide, that is not told."""
        if not self._tree.strategies(claim.queue.name):
            return True
        need = self._need(claim, kind, flavor, left)
        with self._away.ahead(left) as ahead:
            return not self._is_in_vain(ahead, need, Attempt(may_borrow=True))

    def is_ruled_out(self, queue: ClusterQueue, kind: WorkloadClass) -> bool:
        """Say whether nothing but some nodes is new to one pod, and these would not hold it, whoever may go there.

        Asked of all flavors together: for a gang that goes in one of them another may come to have room.
        """
        if not kind.is_free or not self._is_freed_alone(queue.name, kind):
            return False
        flavors = [self._snapshot.flavors[one.flavor] for one in queue.flavors]
        if any(one.is_summed for one in flavors):
            return False
        shape, freed, nodes = kind.pod_sets[0].shape, self._snapshot.freed, self._snapshot.nodes
        may_run = {name for one in flavors for name in freed & nodes.allowed(one, shape.constraints)}
        return not self._look.emptied.may_hold(may_run, kind, shape.requests)

    def _is_freed_alone(self, queue: str, kind: WorkloadClass) -> bool:
        """Whether others than the freed nodes are no use to a class, as before.

        Who is admitted or goes in this decision may let others go, on any node.
        """
        if kind not in self._look.for_freed_room or self._away.victims:
            return False
        return not self._ledger.charged_in(self._tree.path(queue)[-1])

    @property
    def is_any_going(self) -> bool:
        """Whether anybody goes, in this decision or since an earlier one."""
        return bool(self._away.victims or self.candidates.going)

    def find_going(self, claim: Claim, kind: WorkloadClass, flavor: str, left: AnyLedger) -> list[Candidate] | None:
        """Say who of those that go anyway has to be gone so that a workload fits this flavor; None: all are too few."""
        return self._search(self._need(claim, kind, flavor, left), Attempt(may_borrow=True, takes_going=True))

    def _need(self, claim: Claim, kind: WorkloadClass, flavor: str, left: AnyLedger) -> Need:
        name, columns = claim.queue.name, tuple((flavor, resource) for resource, _ in kind.requests)
        is_fair = bool(self._tree.strategies(name))
        offer = None if is_fair or not columns else self.offers.of(name, columns)
        return Need(claim, kind, flavor, left, columns, offer)

    def take(self, claim: Claim, kind: WorkloadClass, victims: Iterable[Candidate], left: AnyLedger) -> Placements:
        """Let these be away from now on, and hold what the workload needs that they go for; say where."""
        self._away.take(victims)
        with self._away.ahead(left) as ahead:
            found = self._fits(ahead, claim.queue, kind, may_borrow=True) or ()
        shapes = [one.shape for one in kind.pod_sets for _ in range(one.count)]
        for shape, placed in zip(shapes, found, strict=True):
            left.spend(claim.queue.name, placed.flavor, shape.requests, placed.node, placed.also)
            if not placed.flavor.is_spot:
                self._ledger.await_on_demand(claim.queue.name)
        return found

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
            removals = self._removals(ahead, claim, kind, may_borrow=may_borrow)
            victims = [] if self._away.victims and removals.suffice() else removals.find(going)
            with self._away.without(ahead, victims or ()):
                found = self._fits(ahead, claim.queue, kind, may_borrow=may_borrow) if victims is not None else None
        return None if victims is None or found is None else (victims, found[0].flavor.name)

    # -- one attempt -----------------------------------------------------------------------------------------------

    def _search_gently(self, need: Need, attempt: Attempt) -> list[Candidate] | None:
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

    def _search(self, need: Need, attempt: Attempt) -> list[Candidate] | None:
        with self._away.ahead(need.left) as ahead:
            removals = self._removals(ahead, need.claim, need.kind, may_borrow=attempt.may_borrow)
            if self._away.victims and removals.suffice():
                return []
            if self._tree.strategies(need.queue.name) and self._is_in_vain(ahead, need, attempt):
                return None
            if self._is_plain(ahead, need):
                found = self._on_one_node(ahead, need, attempt)
                if found is None:
                    return None
                # where quota is short too, it may be others that can stay, who come first when some are put back
                if found and self._has_quota(ahead, need, attempt, without=found[-1]):
                    victims = removals.find(found)
                    if victims is not None:
                        return victims
            return removals.find(self._victims_of(ahead, need, attempt))

    def _is_plain(self, ahead: AnyLedger, need: Need) -> bool:
        """Whether it is one pod, and those of one flavor that go change nothing for it in others.

        By shares, whether it is short of nothing but room: who goes for quota is not told by nodes.
        """
        queue = need.queue
        if not need.columns or not need.kind.is_free or queue.mix is not None:
            return False
        if any(map(self._tree.limits, self._tree.path(queue.name))) or self._snapshot.flavors[need.flavor].is_summed:
            return False
        return need.offer is not None or not self._is_short(ahead, need)

    def _is_short(self, ahead: AnyLedger, need: Need) -> bool:
        quota = next(one for one in need.queue.flavors if one.flavor == need.flavor)
        return ahead.quota_blocker(need.queue, quota, need.kind.requests) is not None

    def _on_one_node(self, ahead: AnyLedger, need: Need, attempt: Attempt) -> list[Candidate] | None:
        """Return those on the first node that may come to have room; empty: not told; None: all are too few."""
        if not attempt.may_borrow:
            own = self._line(need, attempt, need.columns, need.queue.name)
            if not self._away.would_own(ahead, need.queue.name, need.flavor, need.kind.requests, own):
                return None
        nodes = self._nodes(ahead, need)
        if need.offer is not None:
            return nodes.find(self._in_turn(ahead, need, attempt))
        with closing(self._by_share(ahead, need, attempt)) as victims:
            return nodes.find(victims)

    def _nodes(self, ahead: AnyLedger, need: Need) -> OneNode:
        flavor, shape = self._snapshot.flavors[need.flavor], need.kind.pod_sets[0].shape
        only = self._snapshot.freed if self._is_freed_alone(need.queue.name, need.kind) else None
        return OneNode(self._snapshot, self._away, ahead, flavor, shape, only=only)

    def _by_share(self, ahead: AnyLedger, need: Need, attempt: Attempt) -> Generator[Candidate]:
        """Yield whom to take away by shares, each gone from the quota before the next; all are back at the end."""
        gone: list[Candidate] = []
        try:
            for one in self._victims_of(ahead, need, attempt):
                yield one
                self._away.remove(ahead, one, keeps_room=True)
                gone.append(one)
        finally:
            for one in reversed(gone):
                self._away.put_back(ahead, one, keeps_room=True)

    def _has_quota(self, ahead: AnyLedger, need: Need, attempt: Attempt, *, without: Candidate) -> bool:
        """Whether quota is enough once this one alone is gone."""
        with self._away.without(ahead, [without], keeps_room=True):
            if self._is_short(ahead, need):
                return False
            return attempt.may_borrow or not ahead.borrowing_level(need.queue, need.flavor, need.kind.requests)

    def _removals(self, ahead: AnyLedger, claim: Claim, kind: WorkloadClass, *, may_borrow: bool) -> Removals:
        """Return how candidates are taken away until a workload fits; the ledger is as it was afterwards."""
        queue = claim.queue
        # more room never makes it worse for one pod in flavors that are tried in order,
        is_steady = kind.is_free and queue.mix is None and queue.flavor_mode is FlavorMode.ORDERED
        # but room in an earlier flavor may make it borrow there
        is_strict = not may_borrow and queue.when_can_borrow is WhenCanBorrow.MAY_STOP_SEARCH and len(queue.flavors) > 1
        return Removals(
            partial(self._away.remove, ahead),
            partial(self._away.put_back, ahead),
            lambda: self._fits(ahead, queue, kind, may_borrow=may_borrow) is not None,
            lambda one: is_steady and not (is_strict and len({flavor for flavor, _ in one.columns}) > 1),
        )

    def _victims_of(self, ahead: AnyLedger, need: Need, attempt: Attempt) -> Iterable[Candidate]:
        """Return whom to take away, one after the other."""
        strategies = self._tree.strategies(need.queue.name)
        if not strategies:
            found = self._in_turn(ahead, need, attempt)
            # who is asked for while others are away would be seen from there, but for an offer in which nothing moved
            return found if need.offer is None or need.offer.usage is not None else list(found)
        line_of = partial(self._sharing_line, need, attempt, ahead.usage, self._attempts.short(need))
        return self._fair_victims(ahead, need).take(self._going(need, attempt), line_of, strategies)

    def _fair_victims(self, ahead: AnyLedger, need: Need) -> FairVictims:
        amounts = {(need.flavor, resource): amount for resource, amount in need.kind.requests}
        demand, shares = Demand(need.queue.name, need.flavor, amounts), self._shares(ahead, need.queue.name)
        least_of = partial(self.candidates.least, flavor=need.flavor)
        return FairVictims(self._tree, ahead.usage, shares, demand, self._snapshot.now, least_of)

    def _is_in_vain(self, ahead: AnyLedger, need: Need, attempt: Attempt) -> bool:
        """Whether by shares nobody goes who would help: so it is for most that look again after something ended."""
        own = list(self._line(need, attempt, need.columns, need.queue.name))
        if self._going(need, attempt) or self._may_others_go(ahead, need, own):
            return False
        return not own or (self._is_plain(ahead, need) and self._nodes(ahead, need).find(own) is None)

    def _may_others_go(self, ahead: AnyLedger, need: Need, own: Sequence[Candidate]) -> bool:
        """Whether others than its own may have a larger share, even once all of these are gone from its own."""
        name, shares = need.queue.name, self._shares(ahead, need.queue.name)
        borrowers = shares.borrowers(self._tree.path(name)[-1], need.flavor)
        if not any(one != name and self.candidates.of(one, need.flavor) for one in borrowers):
            return False
        shares.keep(name)
        with self._away.without(ahead, own, keeps_room=True):
            return self._fair_victims(ahead, need).has_larger_shares()

    def _in_turn(self, ahead: AnyLedger, need: Need, attempt: Attempt) -> Iterator[Candidate]:
        """Yield whom to take away where shares do not decide; where anything moved, nobody may be away meanwhile."""
        own = need.queue.name
        others = giving_way(
            need,
            attempt,
            tree=self._tree,
            above=self.offers.above(own),
            usage=ahead.usage,
            away=self._away.victims,
        )
        lines = (self._line(need, attempt, need.columns, own), others)
        return merge(*lines, key=lambda one: standing(one, own, attempt.first))

    def _line(self, need: Need, attempt: Attempt, columns: Sequence[Column], name: str) -> Iterator[Candidate]:
        """Yield those of one queue that may go, in order, as far as they are asked for."""
        claim, is_own = need.claim, name == need.queue.name
        of = self.candidates.own(claim, need.flavor) if is_own else self.candidates.of_other(claim, name, need.flavor)
        for one in of:
            if attempt.takes_going and not one.is_going:
                return
            if self._is_free(one, columns) and not (attempt.spares_refused and one.was_refused):
                yield one

    def _is_free(self, one: Candidate, columns: Iterable[Column]) -> bool:
        self._compared += 1
        return one.key not in self._away.victims and uses(one, columns)

    def _going(self, need: Need, attempt: Attempt) -> list[Candidate]:
        """Return those of the tree that go anyway, in order: whatever the shares, what they leave is free."""
        own, going = need.queue.name, replace(attempt, takes_going=True)
        names = (name for name in self.candidates.going if self._tree.path(name)[-1] == self._tree.path(own)[-1])
        found = (one for name in names for one in self._line(need, going, need.columns, name))
        return sorted(found, key=lambda one: standing(one, own))

    def _sharing_line(
        self, need: Need, attempt: Attempt, usage: TreeUsage, short: Sequence[Column], name: str
    ) -> Iterator[Candidate]:
        """Yield those of a queue that shares may let go: of others those that have what they borrow of it.

        `usage` is without those that go: what these have is not borrowed any more.
        """
        columns = short
        if name != need.queue.name:
            columns = [column for column in short if usage.borrows(name, [column])]
        return (one for one in self._line(need, attempt, columns, name) if not one.is_going) if columns else iter(())

    def _shares(self, ahead: AnyLedger, queue: str) -> FairShares:
        """Return the shares in a queue's tree while nobody is tried on."""
        root = self._tree.path(queue)[-1]
        charged, victims = self._ledger.charged_in(root), self._away.queues_in(root)
        key = (id(ahead.usage), root)
        known = self._shares_of.get(key)
        if known is None:
            known = self._shares_of[key] = FairShares(self._tree, ahead.usage), 0, 0
        shares, seen, gone = known
        shares.forget({*charged[seen:], *victims[gone:]})
        self._shares_of[key] = shares, len(charged), len(victims)
        return shares

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
