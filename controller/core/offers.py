"""What the queues of a tree would give up to others: the candidates of each, no further than it borrows.

Kueue looks at all candidates of all queues for each workload. Most workloads that look find nobody, and look in the
same trees: so what the queues of a tree would give up is known until something is charged there.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from controller.core.away import Away
from controller.core.borrowers import Borrowers
from controller.core.candidates import Candidate, Standing, standing, uses
from controller.core.ledger import Ledger
from controller.core.preemption import Candidates
from controller.core.quota_tree import Column
from controller.core.snapshot import Snapshot

_STEP = 8
"""So many of a queue are looked for at a time: most searches end with the first, or with nobody."""

_Ranked = tuple[Standing, Candidate]


@dataclass(slots=True)
class Line:
    """Whom one queue gives up at most, in order: those that were looked for by now, and where others come from."""

    known: list[_Ranked]
    rest: Iterator[Candidate]


@dataclass(slots=True)
class Offer:
    """What the queues of one tree give up of some columns, at most: `going` go anyway, `staying` do not go yet.

    Both in the order of Kueue's `CandidatesOrdering` as another queue sees them. `borrows` says of all queues of the
    tree that may whether they use more than is their own.
    """

    by_queue: dict[str, Line] = field(default_factory=dict)
    borrows: dict[str, bool] = field(default_factory=dict)
    givers: dict[tuple[str, ...], list[str]] = field(default_factory=dict)
    """Of those right below a path: the queues that give anybody up to them."""
    going: list[_Ranked] = field(default_factory=list)
    staying: list[_Ranked] = field(default_factory=list)
    charges: int = 0
    victims: int = 0
    """How much of what moved in the tree is taken in."""


class Offers:
    """The offers of one decision. `looked_at` counts the candidates that were looked at for them."""

    def __init__(self, snapshot: Snapshot, ledger: Ledger, candidates: Candidates, away: Away) -> None:
        self._tree = snapshot.tree
        self._now = snapshot.now
        self._ledger = ledger
        self._candidates = candidates
        self._away = away
        self.borrowers = Borrowers(snapshot.tree, snapshot.usage, ledger)
        self._known: dict[tuple[str, tuple[Column, ...]], Offer] = {}
        self.looked_at = 0

    def of(self, queue: str, columns: tuple[Column, ...]) -> Offer:
        """Return what the queues of a queue's tree give up of columns of one flavor, itself among them."""
        root = self._tree.path(queue)[-1]
        charged, victims = self._ledger.charged_in(root), self._away.queues_in(root)
        offer = self._known.get((root, columns))
        if offer is None:
            offer = self._known[root, columns] = Offer()
            moved = set(self.borrowers.of(root, columns[0][0], beside=self._candidates.going))
        else:
            moved = {*charged[offer.charges :], *victims[offer.victims :]}
        offer.charges, offer.victims = len(charged), len(victims)
        if moved:
            self._look(offer, moved, columns)
        return offer

    def givers(self, offer: Offer, queue: str) -> list[str]:
        """Return the queues that give anybody up to a queue: they borrow, or their pods go anyway; it may be one."""
        path = self._tree.path(queue)
        above = path if self._tree.children(queue) else path[1:]
        known = offer.givers.get(above)
        if known is None:
            borrows = offer.borrows.__getitem__
            known = offer.givers[above] = [
                one
                for one, line in offer.by_queue.items()
                if line.known and (self._candidates.going_of(one) or is_over(self._tree.path(one), above, borrows))
            ]
        return known

    def _look(self, offer: Offer, moved: Iterable[str], columns: tuple[Column, ...]) -> None:
        """Look at these queues again."""
        offer.givers.clear()
        usage, above = self._ledger.usage, {above for one in moved for above in self._tree.path(one)}
        for name in above:
            offer.borrows[name] = usage.borrows(name, columns)
        for name in {*moved, *(above & offer.by_queue.keys())}:
            former = offer.by_queue.get(name)
            for ranked in () if former is None else former.known:
                line = _line_of(offer, ranked)
                del line[bisect_left(line, ranked)]
            offer.by_queue[name] = Line([], self._gives(name, columns))
            self._look_for_more(offer, name)

    def _look_for_more(self, offer: Offer, name: str) -> None:
        """Look for the next of a queue; all that go anyway are among the first."""
        line, staying = offer.by_queue[name], 0
        for one in line.rest:
            ranked = standing(one, ""), one
            line.known.append(ranked)
            insort(_line_of(offer, ranked), ranked)
            staying += not one.is_going
            if staying == _STEP:
                break

    def staying(self, offer: Offer) -> Iterator[Candidate]:
        """Yield in order those of an offer that do not go yet."""
        at = 0
        while at < len(offer.staying):
            one = offer.staying[at][1]
            yield one
            at += 1
            if offer.by_queue[one.queue].known[-1][1] is one:
                self._look_for_more(offer, one.queue)  # they stand behind this one

    def _gives(self, name: str, columns: Sequence[Column]) -> Iterator[Candidate]:
        """Yield whom a queue gives up at most.

        Only of whom no search passes by it is certain that the queue uses less afterwards.
        """
        left = {column: amount for column in columns if (amount := self._ledger.usage.beyond(name, column)) > 0}
        if not left and not self._candidates.going_of(name):
            return
        for one in self._candidates.in_no_peace(name, columns[0][0]):
            if not one.is_going and not any(amount > 0 for amount in left.values()):
                return
            self.looked_at += 1
            if one.key in self._away.victims or not uses(one, columns):
                continue
            yield one
            if one.is_going or not (one.was_refused or self._now < one.quiet_for_borrowers):
                self._take_off(left, one)

    def _take_off(self, left: dict[Column, int], one: Candidate) -> None:
        for pod in one.pods:
            if self._away.victims and pod.uid in self._away.victims:
                continue
            for flavor in (pod.flavor or "", *pod.also):
                for resource, amount in pod.shape.requests:
                    if (flavor, resource) in left:
                        left[flavor, resource] -= amount


def _line_of(offer: Offer, ranked: _Ranked) -> list[_Ranked]:
    return offer.going if ranked[1].is_going else offer.staying


def is_over(path: Iterable[str], above: Collection[str], borrows: Callable[[str], bool]) -> bool:
    """Say whether a queue, and all those above it on its path that are not in `above` too, use more than their own."""
    for one in path:
        if one in above:
            return True
        if not borrows(one):
            return False
    return False
