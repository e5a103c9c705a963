"""Who may be admitted at this moment, line by line, and whose nomination ends with what others take.

A nomination is looked at again only where something was taken that it rests on, so that an admission costs what it
touches, however many lines there are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from heapq import heappop, heappush

from controller.core.ledger import Ledger
from controller.core.placement import Placements
from controller.core.quota_tree import Column, QuotaTree
from controller.core.workloads import OrderKey, WorkloadClass

Turn = tuple[int, bool, OrderKey, str]
"""Of a line: how many began before its head to preempt others, all where it has not; whether a budget sends it behind
all others, its head's place among all, the cluster queue's name. Of a tree that shares fairly: those of the line that
wins, and the root's name."""

Place = tuple[str, str]
"""("node", its name), or ("sum", the name of a flavor whose room is known by sums)."""

_Shelf = tuple[str, str, str, str]
"""("quota", a root, a flavor and a resource of it), or a place and a resource of it with nothing in between."""


@dataclass(frozen=True, slots=True)
class Takes:
    """What goes in takes: amounts of quota by column, and of room by place and resource.

    `is_more`: more may have changed than that, as when others go for somebody.
    """

    amounts: Mapping[Column, int]
    room: Mapping[tuple[Place, str], int] = field(default_factory=dict)
    is_more: bool = False


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
        return self.placed is not None and self.kind.size == 1 and not self.is_touchy


class Nominations:
    """The nominees of all lines. A line is a cluster queue in which workloads wait."""

    def __init__(self, tree: QuotaTree, ledger: Ledger) -> None:
        self._tree = tree
        self._ledger = ledger
        self.of: dict[str, Nominee] = {}
        self._touchy: dict[str, set[str]] = {}
        self._taken: Counter[_Shelf] = Counter()
        self._bounds: dict[_Shelf, list[tuple[int, int, str, Nominee]]] = {}
        """Heaps of what may be taken there until a nominee is looked at again; the number makes their order total."""
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
        for column in nominee.takes.amounts:
            if self._tree.cell(line, column) is not None:
                self._holds(("quota", root, *column), line, nominee)
        for place, resource in nominee.takes.room:
            self._holds((*place, "", resource), line, nominee)

    def _holds(self, shelf: _Shelf, line: str, nominee: Nominee) -> bool:
        """Say whether there is still enough for the nominee, and note how much else may be taken until it is asked."""
        kind, name, flavor, resource = shelf
        if kind == "quota":
            left = self._ledger.usage.available(line, (flavor, resource)).amount
            spare = left - nominee.takes.amounts[flavor, resource]
        else:
            spare = self._ledger.left(kind, name, resource) - nominee.takes.room[(kind, name), resource]
        self._count += 1
        heappush(self._bounds.setdefault(shelf, []), (self._taken[shelf] + spare, self._count, line, nominee))
        return spare >= 0

    def outdated(self, root: str, taken: Takes) -> set[str]:
        """Note what was taken in the tree of this root; return the lines whose nominee may not fit any more."""
        if taken.is_more:
            return {line for line, one in self.of.items() if one.placed is not None}
        found = set(self._touchy.get(root, ()))
        for column, amount in taken.amounts.items():
            found.update(self._take(("quota", root, *column), amount))
        for (place, resource), amount in taken.room.items():
            found.update(self._take((*place, "", resource), amount))
        return found

    def _take(self, shelf: _Shelf, amount: int) -> Iterator[str]:
        self._taken[shelf] += amount
        heap = self._bounds.get(shelf, [])
        due = []
        while heap and heap[0][0] < self._taken[shelf]:
            due.append(heappop(heap)[2:])
        for line, nominee in due:
            # what others take of a tree is often their own
            if self.of.get(line) is nominee and not self._holds(shelf, line, nominee):
                yield line
