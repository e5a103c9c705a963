"""Who may be admitted at this moment, line by line, and whose nomination ends with what others take.

A nomination is looked at again only where something was taken that it rests on, so that an admission costs what it
touches, however many lines there are.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush

from controller.core.fitting.placement import Placements
from controller.core.kubernetes.amounts import Requests
from controller.core.ledgers.ledger import Ledger
from controller.core.quota.quota_tree import Column, QuotaTree
from controller.core.workloads.workload import OrderKey, WorkloadClass

Turn = tuple[bool, OrderKey, str]
"""Of a line: whether a budget sends it behind all others, its head's place among all, the cluster queue's name.

Of a tree that shares fairly: those of the line that wins, and the root's name.
"""

RoomKey = tuple[str, ...]
"""("node", its name), or ("sum", the name of a flavor whose room is known by sums)."""

_ResourceKey = tuple[str, ...]
"""("quota", a queue, a flavor and a resource of it), or a place and a resource of it with nothing in between."""


@dataclass(frozen=True, slots=True)
class Takes:
    """What goes in takes, or is held for it until others go: amounts of quota by column, and of room by place."""

    amounts: Mapping[Column, int]
    room: Mapping[tuple[RoomKey, str], int] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class Nominee:
    """The head of a line, of a class, which can go in where it is `placed`; None: others would have to go for it first.

    Whether they can is looked at again when it has the turn. `is_touchy`: not quota and room alone decide on which
    flavor it goes, or whether.
    """

    turn: Turn
    kind: WorkloadClass
    takes: Takes
    placed: Placements | None = None
    is_touchy: bool = False

    @property
    def is_lasting(self) -> bool:
        """Whether what is said of it holds for the next one of its class as well, until others take what it needs."""
        return self.placed is not None and self.kind.size == 1 and not self.kind.most and not self.is_touchy


class Nominations:
    """The nominees of all lines. A line is a cluster queue in which workloads wait."""

    def __init__(self, tree: QuotaTree, ledger: Ledger) -> None:
        self._tree = tree
        self._ledger = ledger
        self.of: dict[str, Nominee] = {}
        self._touchy: dict[str, set[str]] = {}
        self._taken: dict[_ResourceKey, int] = {}
        self._bounds: dict[_ResourceKey, list[tuple[int, int, str, Nominee]]] = {}
        """Heaps of what may be taken there until a nominee is looked at again; the number makes their order total."""
        self._watched: set[str] = set()
        """Nodes of which there is such a heap: few of all."""
        self._count = 0

    def put(self, line: str, nominee: Nominee | None) -> None:
        """Let this be the line's nominee, or nobody."""
        root, former = self._tree.path(line)[-1], self.of.pop(line, None)
        if former is not None and former.is_touchy:
            self._touchy[root].discard(line)
        if nominee is None:
            return
        self.of[line] = nominee
        if nominee.placed is None:
            return
        if nominee.is_touchy:
            self._touchy.setdefault(root, set()).add(line)
        for column, amount in nominee.takes.amounts.items():
            if self._tree.cell(line, column) is not None:
                for left in self._ledger.usage.bounds(line, column):
                    self._hold(("quota", left.at, *column), line, nominee, left.amount - amount)
        for place, resource in nominee.takes.room:
            at = (*place, "", resource)
            self._hold(at, line, nominee, self._spare(at, line, nominee))

    def _hold(self, at: _ResourceKey, line: str, nominee: Nominee, spare: int) -> None:
        """Note how much else may be taken there until the nominee is looked at again."""
        self._count += 1
        bound = self._taken.get(at, 0) + spare
        heappush(self._bounds.setdefault(at, []), (bound, self._count, line, nominee))
        if at[0] == "node":
            self._watched.add(at[1])

    def _spare(self, at: _ResourceKey, line: str, nominee: Nominee) -> int:
        """Return how much more there is than the nominee needs; below zero: it has too little."""
        kind, name, flavor, resource = at
        if kind != "quota":
            return self._ledger.left(kind, name, resource) - nominee.takes.room[(kind, name), resource]
        bounds = self._ledger.usage.bounds(line, (flavor, resource))
        return next(one.amount for one in bounds if one.at == name) - nominee.takes.amounts[flavor, resource]

    def lasts(self, taker: str, takes: Takes) -> int:
        """Return how many times a line may take this before anybody is looked at again, the last time counted in.

        Nodes apart, of which each takes another: `lasts_on`.
        """
        if self._touchy.get(self._tree.path(taker)[-1]):
            return 1
        asked = ((at, amount) for at, amount in self._resource_keys(taker, takes) if at[0] != "node")
        return min((self._spared(at) // amount + 1 for at, amount in asked if amount), default=sys.maxsize)

    def lasts_on(self, nodes: Sequence[str | None], requests: Requests) -> int:
        """Return how many pods that ask for the same may go to these nodes before that, the last one counted in."""
        times: dict[str | None, int] = {}
        for number, node in enumerate(nodes):
            if node not in self._watched:
                continue
            times[node] = times.get(node, 0) + 1
            for resource, need in requests:
                if times[node] * need > self._spared(("node", str(node), "", resource)):
                    return number + 1
        return len(nodes)

    def _resource_keys(self, taker: str, takes: Takes) -> list[tuple[_ResourceKey, int]]:
        """Return where a line takes something, and how much; of nodes those that anybody rests on."""
        path = self._tree.path(taker)
        keys: list[tuple[_ResourceKey, int]] = [
            (("quota", name, *column), amount) for column, amount in takes.amounts.items() for name in path
        ]
        return keys + [
            ((*place, "", resource), amount)
            for (place, resource), amount in takes.room.items()
            if place[0] != "node" or place[1] in self._watched
        ]

    def _spared(self, at: _ResourceKey) -> int:
        """Return how much more may be taken there before anybody is looked at again."""
        heap = self._bounds.get(at)
        return max(0, heap[0][0] - self._taken.get(at, 0)) if heap else sys.maxsize

    def outdated(self, taker: str, taken: Takes) -> set[str]:
        """Note what a line took; return the lines whose nominee may not fit any more."""
        found = set(self._touchy.get(self._tree.path(taker)[-1], ()))
        for at, amount in self._resource_keys(taker, taken):
            heap = self._bounds.get(at)
            # where nobody is, what is taken is counted by those who come
            if heap:
                now = self._taken[at] = self._taken.get(at, 0) + amount
                if heap[0][0] < now:
                    found.update(self._due(at, heap))
        return found

    def _due(self, at: _ResourceKey, heap: list[tuple[int, int, str, Nominee]]) -> Iterator[str]:
        """Yield the lines whose nominee has too little there by now, of those that are to be looked at."""
        due = []
        while heap and heap[0][0] < self._taken[at]:
            due.append(heappop(heap)[2:])
        for line, nominee in due:
            if self.of.get(line) is not nominee:
                continue
            spare = self._spare(at, line, nominee)
            if spare < 0:
                yield line
            else:  # what others take of a tree is often their own
                self._hold(at, line, nominee, spare)
