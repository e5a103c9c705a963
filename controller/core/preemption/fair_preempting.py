"""Whom to preempt next where a tree shares fairly: Kueue's `fairPreemptions`, victim after victim.

From the root down the queue with the largest share gives somebody up, as long as that leaves its part of the tree with
no less than the preemptor's part has then. A share always counts the preemptor's demand in.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Collection, Iterator, Mapping
from collections.abc import Set as AbstractSet
from itertools import pairwise

from controller.core.candidates.candidate import Candidate, candidate_rank
from controller.core.preemption.targets import Targets
from controller.core.queueing.fair_sharing_policy import Share, Strategy
from controller.core.quota.fair_sharing import NOTHING, Demand, FairShares, Ranked
from controller.core.quota.quota_tree import Column, QuotaTree
from controller.core.quota.tree_usage import TreeUsage


class FairVictims:
    """Candidates one after the other, each to be gone from the usage before the next is asked for."""

    def __init__(
        self,
        tree: QuotaTree,
        usage: TreeUsage,
        shares: FairShares,
        demand: Demand,
        own: Mapping[Column, int],
        now: float,
        least_of: Callable[[str], Mapping[Column, int]],
    ) -> None:
        """`shares` know what holds while nobody is removed; each candidate has at least what `least_of` its queue says.

        `own` is what of the demand is asked for to stay within what the preemptor's queue owns.
        """
        self._tree = tree
        self._usage = usage
        self._shares = shares
        self._demand = demand
        self._flavors = list({column[0]: None for column, _ in demand.amounts})
        self._own = own
        self._now = now
        self._least_of = least_of
        self._path = tree.path(demand.queue)
        self._known: dict[str, Share] = {}
        """Of queues on the preemptor's path, its demand counted in, and of those of which somebody is removed."""
        self._is_within: bool | None = None
        self._given: set[str] = set()
        """Queues at or below which somebody is removed."""

    def take(
        self,
        going: Collection[Candidate],
        line_of: Callable[[str], Iterator[Candidate]],
        strategies: tuple[Strategy, ...],
    ) -> Iterator[Candidate]:
        """Yield whom to remove, as long as anybody may be; `line_of` says who of a queue is asked, in order.

        Those that are `going` anyway come first.
        """
        for queue in {self._demand.queue, *(one.queue for one in going)}:
            self._keep(queue)
        for one in going:
            yield one
            self.note_gone(one)
        if self._is_within_nominal():
            yield from self._others_first(line_of, strategies[0])
            return
        targets = Targets(line_of, self._stands_before, spares_owner=False)
        refused: dict[str, Candidate] = {}
        yield from self._first(targets, strategies[0], refused)
        if len(strategies) > 1:
            yield from self._second(self._again(targets, refused))

    def _others_first(self, line_of: Callable[[str], Iterator[Candidate]], strategy: Strategy) -> Iterator[Candidate]:
        """Yield whom others have to give up to one that stays within what its queue owns, then those of its own queue.

        Kueue asks its own queue in its turn, by what that has borrowed of whatever else.
        """
        own = self._demand.queue
        targets = Targets(
            lambda name: iter(()) if name == own else line_of(name), self._stands_before, spares_owner=False
        )
        yield from self._first(targets, strategy, {})
        for one in line_of(own):
            yield one
            self.note_gone(one)

    def _keep(self, queue: str) -> None:
        for flavor in self._flavors:
            self._shares.keep(queue, flavor)

    def _first(self, targets: Targets, strategy: Strategy, refused: dict[str, Candidate]) -> Iterator[Candidate]:
        """One victim of the queue with the largest share at a time; note the first of each that may not go."""
        while (name := self._next(targets)) is not None:
            if name == self._demand.queue or self._is_within_nominal():
                one = targets.pop(name)
                yield one
                self._is_gone(one, targets)
                continue
            mine, theirs = self._almost_common(name)
            preemptor, before = self._share(mine), self._share(theirs)
            if not preemptor < before:
                # a share never grows by whom its queue gives up, so nobody of it may go
                targets.refuse(theirs)
                continue
            # a share that falls only as far as the preemptor's has fallen: the place cannot be taken back for ever
            surplus = self._shares.surplus(theirs, name, preemptor)
            is_any = strategy is Strategy.LESS_THAN_INITIAL_SHARE
            if not is_any and not surplus.covers(self._least_of(name)):
                self._refuse_all(name, targets, refused)
            for one in targets.rest(name):
                if self._now < one.quiet_for_borrowers:
                    continue
                if is_any or surplus.covers(one.held):
                    yield one
                    self._is_gone(one, targets)
                    break
                refused.setdefault(name, one)

    def _refuse_all(self, name: str, targets: Targets, refused: dict[str, Candidate]) -> None:
        """Take in that nobody of a queue may go, whoever it is."""
        one = next((one for one in targets.rest(name) if self._now >= one.quiet_for_borrowers), None)
        if one is not None:
            refused.setdefault(name, one)
        targets.close(name)

    def _second(self, targets: Targets) -> Iterator[Candidate]:
        """One victim of each queue that has a larger share than the preemptor's would be."""
        while (name := self._next(targets)) is not None:
            mine, theirs = self._almost_common(name)
            if not self._share(mine) < self._share(theirs):
                targets.refuse(theirs)
                continue
            one = targets.pop(name)
            targets.pruned.add(name)
            yield one
            self._is_gone(one, targets)

    def _again(self, targets: Targets, refused: Mapping[str, Candidate]) -> Targets:
        """Return of each queue the first that was refused; of equal shares those first that were refused one by one."""
        order = {name: number for number, name in enumerate(refused)}

        def first(name: str) -> Iterator[Candidate]:
            one = refused.get(name)
            if one is None and not targets.refused.isdisjoint(self._tree.path(name)):
                one = next((it for it in targets.rest(name) if self._now >= it.quiet_for_borrowers), None)
            return iter(() if one is None else (one,))

        def comes_before(one: Candidate, other: Candidate) -> bool:
            numbers = [order.get(it.queue, len(order)) for it in (one, other)]
            return self._stands_before(one, other) if numbers[0] == numbers[1] else numbers[0] < numbers[1]

        return Targets(first, comes_before, spares_owner=True)

    def _stands_before(self, one: Candidate, other: Candidate) -> bool:
        own = self._demand.queue
        return candidate_rank(one, own) < candidate_rank(other, own)

    def _next(self, targets: Targets) -> str | None:
        """Return the queue that gives somebody up next."""
        root = self._path[-1]
        if len(self._path) == 1:
            return root if targets.first(root) is not None else None
        while root not in targets.pruned:
            name = self._descend(root, targets)
            if name is not None:
                return name
        return None

    def _descend(self, above: str, targets: Targets) -> str | None:
        """Mirrors `nextTarget`: of the children the largest share, an inner queue before one that takes pods."""
        if above not in targets.ranked:
            targets.ranked[above] = self._ranked(above, targets)
        queues, inner = targets.ranked[above]
        while True:
            queue, deeper = self._best(queues, targets), self._best(inner, targets)
            shares = [one[0] for one in (queue, deeper) if one is not None]
            if self._is_refused(above, shares, targets):
                targets.refuse(above)
                return None
            if deeper is None or (queue is not None and deeper[0] < queue[0]):
                break
            found = self._descend(deeper[-1], targets)
            if found is not None:
                return found
        if queue is None:
            targets.pruned.add(above)
            return None
        return self._first_of_alike(queues, targets)

    def _is_refused(self, above: str, shares: Collection[Share], targets: Targets) -> bool:
        """Whether nobody below may go: the preemptor's part has nobody left, and none of the others, `shares` being the
        largest, a larger share.
        """
        if not shares or above not in self._path[1:]:
            return False
        mine = self._path[self._path.index(above) - 1]
        if mine not in targets.pruned or self._share(mine) < max(shares):
            return False
        return targets.spares_owner or not self._is_within_nominal()

    def _ranked(self, above: str, targets: Targets) -> tuple[list[Ranked], list[Ranked]]:
        """Return the queues that take pods right below one, and the inner ones there, the largest shares last."""
        ranked = list(self._shares.ranked(above))
        if self._is_another(above):
            ranked = [one for one in ranked if not self._is_another(one[-1])]
            for number, name in enumerate(self._tree.children(above)):
                if self._is_another(name):
                    self._rank(ranked, number, name, targets)
        inner = [one for one in ranked if self._tree.children(one[-1])]
        return [one for one in ranked if not self._tree.children(one[-1])] if inner else ranked, inner

    def _rank(self, ranked: list[Ranked], number: int, name: str, targets: Targets) -> None:
        """Put a queue where its share is, unless nobody goes in it: it borrows nothing, and is not the preemptor's."""
        share = self._share(name)
        if share == NOTHING and name not in self._path:
            targets.pruned.add(name)
        else:
            insort(ranked, (share, number, name))

    def _best(self, ranked: list[Ranked], targets: Targets) -> Ranked | None:
        """Return the one with the largest share; of several the last. Shares only fall, so others need no look."""
        while ranked:
            _, number, name = ranked[-1]
            if name in targets.pruned:
                ranked.pop()
            elif name not in targets.stale:
                if self._tree.children(name) or targets.first(name) is not None:
                    return ranked[-1]
            else:
                targets.stale.discard(name)
                ranked.pop()
                self._rank(ranked, number, name, targets)
        return None

    def _first_of_alike(self, queues: list[Ranked], targets: Targets) -> str:
        """Return the queue that gives somebody up of those with the largest share, the best of them being known."""
        share, _, best = queues[-1]
        for other, _, name in reversed(queues[:-1]):
            if other != share:
                break
            is_out = name in targets.pruned or (name in targets.stale and self._share(name) != share)
            if not is_out and targets.is_before(name, best):
                best = name
        return best

    def _almost_common(self, name: str) -> tuple[str, str]:
        """Return the queues right below the lowest that is above both: on the preemptor's way, and on the other's."""
        theirs = self._tree.path(name)
        common = next(one for one in self._path if one in theirs)
        return self._path[self._path.index(common) - 1], theirs[theirs.index(common) - 1]

    def _is_another(self, name: str) -> bool:
        """Whether a queue's share is another than while nobody is removed, or counts the demand in."""
        return name in self._path or name in self._given

    def _share(self, name: str) -> Share:
        known = self._known.get(name)
        if known is None:
            if not self._is_another(name):
                return self._shares.kept(name)
            known = self._known[name] = self._work_out(name)
        return known

    def _work_out(self, name: str) -> Share:
        if name not in self._path:
            return self._shares.of(name)
        if name not in self._given:
            return self._shares.asking(name, self._demand)
        return self._shares.of(name, self._shares.rise(name, self._demand))

    def _is_gone(self, one: Candidate, targets: Targets) -> None:
        """Take in that a candidate is gone from the usage, while others are asked for."""
        self.note_gone(one)
        targets.stale.update(self._tree.path(one.queue))

    def note_gone(self, one: Candidate) -> None:
        """Take in that a candidate is gone from the usage."""
        if one.queue == self._path[0]:
            self._is_within = None
        for name in self._tree.path(one.queue):
            self._given.add(name)
            self._known.pop(name, None)

    def has_larger_shares(self) -> bool:
        """Say whether any share is larger than the preemptor's; where it stays within its own, whether there is any.

        Else nobody goes but of its own queue: most that search have a share like all others. Only parts count in which
        anybody has borrowed of the flavor.
        """
        parts: AbstractSet[str] = frozenset()
        for flavor in self._flavors:
            of_one = self._shares.parts(self._path[-1], flavor)
            parts = parts | of_one if parts else of_one
        for mine, above in pairwise(self._path):
            for share, _, name in reversed(self._shares.ranked(above)):
                if name != mine and name in parts:
                    if self._is_less(mine, share):
                        return True
                    break  # the others there have smaller ones
        return False

    def _is_less(self, mine: str, share: Share) -> bool:
        return self._is_within_nominal() or self._share(mine) < share

    def _is_within_nominal(self) -> bool:
        if self._is_within is None:
            self._is_within = not self._usage.exceeds(self._demand.queue, self._own)
        return self._is_within
