"""Which candidates of one tree others could reclaim, of some columns: those of each queue, as far as it borrows.

They do not depend on who asks. So they last from one decision to the next, but for the queues in which something moved.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Collection, Container, Iterable, Iterator
from dataclasses import dataclass, field
from math import inf
from typing import Generic, TypeVar

from controller.core.candidates.candidate import Candidate, CandidateRank, KnownCandidates, candidate_rank, uses
from controller.core.quota.falling_usage import Row
from controller.core.quota.quota_tree import Column, QuotaTree
from controller.core.quota.tree_usage import TreeUsage

_STEP = 8
"""So many of a queue are looked for at a time: most searches end with the first, or with nobody."""

_Ranked = tuple[CandidateRank, Candidate]
_One = TypeVar("_One")


@dataclass(slots=True)
class Freed:
    """What some leave on nodes, by node and resource. `is_of_several`: one of them has something of several flavors."""

    nodes: dict[str, dict[str, int]] = field(default_factory=dict)
    is_of_several: bool = False


class Line(Generic[_One]):
    """Who is given up, in order: those `known`, that were looked for by now, and where the `rest` come from.

    `freed` is what all of them leave, once that was asked for. No dataclass: mypyc compiles none that is generic.
    """

    def __init__(self, known: list[_One], rest: Iterator[Candidate]) -> None:
        self.known, self.rest = known, rest
        self.freed: Freed | None = None


@dataclass(slots=True)
class ReclaimableCandidates:
    """What the queues of one tree give up of some columns, at most: `going` go anyway, `staying` do not go yet.

    Both in the order of Kueue's `CandidatesOrdering` as another queue sees them. `usage` is what it was made of, None
    where something was charged since, and until `until`, epoch seconds, it holds but for those who `moved`. `visited`
    counts candidates that were looked at for it, `compared` those that were compared with a claim, in one decision.
    """

    columns: tuple[Column, ...]
    now: float
    usage: TreeUsage | None = None
    moved: set[str] = field(default_factory=set)
    """Queues that have to be put anew before another decision, since it does not know what happened in this one."""
    until: float = inf
    by_queue: dict[str, Line[_Ranked]] = field(default_factory=dict)
    """Whom each queue gives up at most."""
    borrows: dict[str, bool] = field(default_factory=dict)
    """Of all queues of the tree that may: whether they use more than is their own."""
    givers: dict[tuple[str, ...], list[str]] = field(default_factory=dict)
    """Of those right below a path: the queues that give anybody up to them."""
    outside: dict[tuple[tuple[str, ...], int], frozenset[str]] = field(default_factory=dict)
    """Of `givers` those that are outside of the subtree so high on that path."""
    lines: dict[tuple[object, ...], Line[Candidate]] = field(default_factory=dict)
    """Who goes, by all that says who does (`preemption.reclaim_order`)."""
    asked: dict[tuple[object, ...], tuple[Line[Candidate], ...]] = field(default_factory=dict)
    """Which of these lines might make room for whom (`preemption.possible_room`)."""
    rows: dict[int, dict[str, Row]] = field(default_factory=dict)
    """What these begin with, by the usage that it is of."""
    going: list[_Ranked] = field(default_factory=list)
    _staying: list[_Ranked] = field(default_factory=list)
    charges: int = 0
    victims: int = 0
    """How much of what moved in the tree is taken in."""
    visited: int = 0
    compared: int = 0

    def renew(self, now: float) -> None:
        """Hold in another decision too, at this time."""
        self.now, self.visited, self.compared = now, 0, 0

    def move(self) -> None:
        """Forget what follows from what is used: something was charged, or somebody goes."""
        self.usage = None
        self.givers.clear()
        self.outside.clear()
        self.lines.clear()
        self.asked.clear()
        self.rows.clear()

    def close(self) -> None:
        """End what was begun: iterators that refer to this would keep it, and their candidates, in memory."""
        self.move()
        self.by_queue.clear()

    def put(self, name: str, usage: TreeUsage, candidates: Iterable[Candidate], removed: Container[str]) -> None:
        """Let a queue give up of these as much as it borrows; those `removed`, by their keys, are none of them."""
        former = self.by_queue.get(name)
        for ranked in () if former is None else former.known:
            line = self._line_of(ranked)
            del line[bisect_left(line, ranked)]
        left = {column: amount for column in self.columns if (amount := usage.beyond(name, column)) > 0}
        self.by_queue[name] = Line([], self._given(candidates, left, removed))
        self._look_for_more(name)

    def staying(self) -> Iterator[Candidate]:
        """Yield in order those that do not go yet."""
        at = 0
        while at < len(self._staying):
            one = self._staying[at][1]
            yield one
            at += 1
            if self.by_queue[one.queue].known[-1][1] is one:
                self._look_for_more(one.queue)  # they stand behind this one

    def _look_for_more(self, name: str) -> None:
        """Look for the next of a queue; all that go anyway are among the first."""
        line, staying = self.by_queue[name], 0
        for one in line.rest:
            ranked = candidate_rank(one, ""), one
            line.known.append(ranked)
            insort(self._line_of(ranked), ranked)
            staying += not one.is_going
            if staying == _STEP:
                break

    def _line_of(self, ranked: _Ranked) -> list[_Ranked]:
        return self.going if ranked[1].is_going else self._staying

    def _given(
        self, candidates: Iterable[Candidate], left: dict[Column, int], removed: Container[str]
    ) -> Iterator[Candidate]:
        """Yield whom a queue that borrows what is `left` gives up at most.

        Only of whom no search passes by it is certain that the queue uses less afterwards.
        """
        for one in candidates:
            if not one.is_going and not any(amount > 0 for amount in left.values()):
                return
            self.visited += 1
            for quiet in (one.quiet, one.quiet_for_borrowers):
                self.until = min(self.until, quiet) if self.now < quiet else self.until
            if self.now < one.quiet or one.key in removed or not uses(one, self.columns):
                continue
            yield one
            if not (one.is_going or one.was_refused or self.now < one.quiet_for_borrowers):
                for column, amount in held(one, self.columns, removed):
                    if column in left:
                        left[column] -= amount


def held(one: Candidate, columns: Collection[Column], removed: Container[str]) -> Iterator[tuple[Column, int]]:
    """Yield what a candidate holds of some columns, without what those of its pods hold that are `removed` already."""
    for pod in one.pods:
        if pod.uid not in removed:
            for flavor in (pod.flavor or "", *pod.also):
                for resource, amount in pod.shape.requests:
                    if (flavor, resource) in columns:
                        yield (flavor, resource), amount


class KnownReclaimable:
    """The reclaimable candidates of trees, and which queues moved since. Mutable: `decide` fills what the cache
    keeps."""

    def __init__(self, candidates: KnownCandidates | None = None) -> None:
        """`candidates` know which queues moved."""
        self._candidates = candidates or KnownCandidates()
        self._tree = QuotaTree({})
        self._of: dict[str, dict[tuple[Column, ...], ReclaimableCandidates]] = {}

    def catch_up(self, tree: QuotaTree) -> None:
        """Take in which queues moved since the decision before; forget all where that may be any."""
        moved = self._candidates.take_moved()
        if tree is not self._tree or moved is None:
            for reclaimable in [reclaimable for known in self._of.values() for reclaimable in known.values()]:
                reclaimable.close()
            self._of.clear()
        for queue in moved or ():
            for reclaimable in self._of.get(tree.path(queue)[-1], {}).values():
                reclaimable.moved.add(queue)
        self._tree = tree

    def get(self, root: str, columns: tuple[Column, ...], now: float) -> ReclaimableCandidates | None:
        """Return those of a tree, if they are known and hold now, but for the queues that moved."""
        found = self._of.get(root, {}).get(columns)
        return found if found is not None and now < found.until else None

    def has(self, root: str, columns: tuple[Column, ...], reclaimable: ReclaimableCandidates) -> bool:
        """Say whether just this one is kept."""
        return self._of.get(root, {}).get(columns) is reclaimable

    def put(self, root: str, reclaimable: ReclaimableCandidates) -> None:
        """Remember these, in place of those that hold no longer."""
        known = self._of.setdefault(root, {})
        if reclaimable.columns in known:
            known[reclaimable.columns].close()
        known[reclaimable.columns] = reclaimable
