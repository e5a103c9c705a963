"""Whom to preempt next where a tree shares fairly: Kueue's `fairPreemptions`, victim after victim.

From the root down the queue with the largest share gives somebody up, as long as that leaves its part of the tree with
no less than the preemptor's part has then. A share always counts the preemptor's demand in.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from controller.core.candidates import Candidate
from controller.core.fair_sharing import NOTHING, FairShares
from controller.core.fair_sharing_policy import Share, Strategy
from controller.core.quota_tree import Column, QuotaTree
from controller.core.tree_usage import TreeUsage


@dataclass(frozen=True, slots=True)
class Demand:
    """Who preempts: its queue, and what it asks for of each column."""

    queue: str
    amounts: Mapping[Column, int]


class FairVictims:
    """Candidates one after the other, each to be gone from the usage before the next is asked for."""

    def __init__(self, tree: QuotaTree, usage: TreeUsage, shares: FairShares, demand: Demand, now: float) -> None:
        self._tree = tree
        self._usage = usage
        self._shares = shares
        self._demand = demand
        self._now = now
        self._path = tree.path(demand.queue)

    def take(self, candidates: Iterable[Candidate], strategies: tuple[Strategy, ...]) -> Iterator[Candidate]:
        """Yield whom to take away, as long as anybody may be; `candidates` are in their order."""
        retried: list[Candidate] = []
        yield from self._first(_Targets(candidates), strategies[0], retried)
        if len(strategies) > 1:
            yield from self._second(_Targets(retried))

    def _first(self, targets: _Targets, strategy: Strategy, failed: list[Candidate]) -> Iterator[Candidate]:
        """One victim of the queue with the largest share at a time; in `failed` are those that may not be taken so."""
        while (name := self._next(targets)) is not None:
            if name == self._demand.queue or self._is_within_nominal():
                yield targets.pop(name)
                continue
            mine, theirs = self._almost_common(name)
            preemptor, before = self._share(mine), self._share(theirs)
            while targets.of.get(name):
                one = targets.pop(name)
                if self._now < one.quiet_for_borrowers:
                    continue
                if strategy.allows(preemptor, before, self._share(theirs, without=one)):
                    yield one
                    break
                failed.append(one)

    def _second(self, targets: _Targets) -> Iterator[Candidate]:
        """One victim of each queue that has a larger share than the preemptor's would be."""
        while (name := self._next(targets)) is not None:
            mine, theirs = self._almost_common(name)
            one = targets.pop(name)
            targets.drop(name)
            if self._share(mine) < self._share(theirs):
                yield one

    def _next(self, targets: _Targets) -> str | None:
        """Return the queue that gives somebody up next."""
        root = self._path[-1]
        if len(self._path) == 1:
            return root if targets.of.get(root) else None
        while root not in targets.pruned:
            name = self._descend(root, targets)
            if name is not None:
                return name
        return None

    def _descend(self, above: str, targets: _Targets) -> str | None:
        """Mirrors `nextTarget`: of the children the largest share, an inner queue before one that takes pods."""
        queue: tuple[Share, str] | None = None
        inner: tuple[Share, str] | None = None
        for name in self._tree.children(above):
            if name in targets.pruned:
                continue
            share = self._share(name)
            if self._tree.children(name):
                if share == NOTHING and name not in self._path:
                    targets.pruned.add(name)
                elif inner is None or share >= inner[0]:
                    inner = share, name
            elif (share == NOTHING and name != self._demand.queue) or not targets.of.get(name):
                targets.pruned.add(name)
            elif queue is None or (share, -targets.rank(name)) > (queue[0], -targets.rank(queue[1])):
                queue = share, name
        if inner is not None and (queue is None or inner[0] >= queue[0]):
            return self._descend(inner[1], targets)
        if queue is None:
            targets.pruned.add(above)
            return None
        return queue[1]

    def _almost_common(self, name: str) -> tuple[str, str]:
        """Return the queues right below the lowest that is above both: on the preemptor's way, and on the other's."""
        theirs = self._tree.path(name)
        common = next(one for one in self._path if one in theirs)
        return self._path[self._path.index(common) - 1], theirs[theirs.index(common) - 1]

    def _share(self, name: str, *, without: Candidate | None = None) -> Share:
        more: dict[Column, int] = {}
        if name in self._path:
            for column, amount in self._demand.amounts.items():
                more[column] = self._usage.rise(self._demand.queue, column, amount, name)
        if without is not None:
            for column, amount in _held(without).items():
                more[column] = more.get(column, 0) + self._usage.rise(without.queue, column, -amount, name)
        return self._shares.of(name, more)

    def _is_within_nominal(self) -> bool:
        cells = self._tree.cells(self._demand.queue)
        return all(
            self._usage.used(self._demand.queue, *column) + amount <= cells[column].subtree
            for column, amount in self._demand.amounts.items()
            if column in cells
        )


class _Targets:
    """Candidates by queue, and the parts of the tree that have nobody to give up any more."""

    def __init__(self, candidates: Iterable[Candidate]) -> None:
        self.of: dict[str, list[tuple[int, Candidate]]] = {}
        for rank, one in enumerate(candidates):
            self.of.setdefault(one.queue, []).append((rank, one))
        self.pruned: set[str] = set()

    def rank(self, queue: str) -> int:
        """Return where the queue's first candidate stands among all."""
        return self.of[queue][0][0]

    def pop(self, queue: str) -> Candidate:
        """Take the queue's first candidate."""
        return self.of[queue].pop(0)[1]

    def drop(self, queue: str) -> None:
        """Let the queue give up nobody else."""
        self.of.pop(queue, None)


def _held(one: Candidate) -> Mapping[Column, int]:
    amounts: dict[Column, int] = {}
    for pod in one.pods:
        for resource, amount in pod.shape.requests:
            column = (pod.flavor or "", resource)
            amounts[column] = amounts.get(column, 0) + amount
    return amounts
