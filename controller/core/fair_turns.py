"""Whose turn it is where a tree shares fairly: Kueue's tournament, among those who can go in at this moment.

At each queue those below it compete: who need not borrow before who has to, then the smaller share, the head's demand
counted in, then the order; the winner competes for that queue on the next level. Only heads that fit take part, or
that others would be preempted for: by its share one that cannot go in would hold up, or let pass, those behind it, and
what comes of that would depend on when it is found out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from controller.core.fair_sharing import FairShares, Share
from controller.core.ledger import Ledger
from controller.core.quota_tree import Column, QuotaTree
from controller.core.workloads import OrderKey

Turn = tuple[bool, bool, OrderKey, str]
"""Of a line: whether nobody was preempted for its head, whether a budget sends it behind all others, its head's place
among all, the cluster queue's name. Of a tree that shares fairly: those of the line that wins, and the root's name."""


@dataclass(frozen=True, slots=True)
class Takes:
    """What goes in takes: amounts by column, the nodes, and the flavors whose room is known by sums.

    `is_more`: more may have changed than that, as when others go for somebody.
    """

    amounts: Mapping[Column, int]
    nodes: frozenset[str] = frozenset()
    sums: frozenset[str] = frozenset()
    is_more: bool = False


@dataclass(frozen=True, slots=True)
class Nominee:
    """The head of a line, which can go in. `is_touchy`: not quota and room alone decide on which flavor, or whether.

    `preempts`: others have to go for it first; whether they can, is looked at again when it has the turn.
    """

    turn: Turn
    takes: Takes
    is_touchy: bool = False
    preempts: bool = False
    spare: dict[Column, int] = field(default_factory=dict)
    """What may go to others of its tree, column by column, until it has to be looked at again."""


_Standing = tuple[bool, bool, bool, Share, OrderKey, str]
"""How a queue competes with others below the same one; the least wins. The order is total."""


class FairTurns:
    """The lines of all trees that share fairly; a line is a cluster queue in which workloads wait."""

    def __init__(self, tree: QuotaTree, ledger: Ledger, nominate: Callable[[str], Nominee | None]) -> None:
        """`nominate` looks at a line anew and returns its first that can go in, if there is one."""
        self._tree = tree
        self._usage = ledger.usage
        self._shares = FairShares(tree, ledger.usage)
        self._nominate = nominate
        self._nominees: dict[str, Nominee] = {}
        self._champions: dict[str, str] = {}
        """By queue the line that competes for it."""
        self._standings: dict[str, _Standing] = {}
        self._turns: dict[str, Turn] = {}

    def has(self, line: str) -> bool:
        """Say whether a line is in a tree that shares fairly."""
        return self._tree.path(line)[-1] in self._tree.fair_roots

    def enter(self, lines: Iterable[str]) -> list[Turn]:
        """Let lines take part; return the turns of their trees."""
        return self._look_at(set(lines))

    def line_of(self, turn: Turn) -> str | None:
        """Return the line whose turn it is; None where another line of its tree has the turn by now."""
        if turn[3] not in self._tree.fair_roots:
            return turn[3]
        return self._champions.get(turn[3]) if self._turns.get(turn[3]) == turn else None

    def moved(self, line: str, takes: Takes) -> list[Turn]:
        """A line has had its turn, in whatever tree; return the turns that come of that."""
        root = self._tree.path(line)[-1]
        again = {name for name, one in self._nominees.items() if self._is_outdated(name, one, root, takes)}
        if root in self._tree.fair_roots:
            again.add(line)
        return self._look_at(again)

    def _is_outdated(self, name: str, one: Nominee, root: str, taken: Takes) -> bool:
        """Whether a nominee may not fit any more after something was taken in the tree of this root."""
        if one.preempts:
            return False
        if taken.is_more or not taken.nodes.isdisjoint(one.takes.nodes) or not taken.sums.isdisjoint(one.takes.sums):
            return True
        if self._tree.path(name)[-1] != root:
            return False
        is_short = False
        for column, amount in taken.amounts.items():
            if column in one.spare:
                one.spare[column] -= amount
                is_short = is_short or one.spare[column] < 0
        return one.is_touchy or is_short

    def _look_at(self, lines: set[str]) -> list[Turn]:
        """Nominate anew for these lines, and see who wins wherever that may be somebody else now."""
        depths: dict[str, int] = {}
        for line in sorted(lines):
            found = self._nominate(line)
            self._nominees.pop(line, None)
            if found is not None:
                self._nominees[line] = found
                found.spare.update(self._spare(line, found.takes.amounts))
            depths.update((name, depth) for depth, name in enumerate(reversed(self._tree.path(line))))
        for name in sorted(depths, key=lambda one: (-depths[one], one)):
            self._settle(name)
        return [self._turns[name] for name, depth in depths.items() if not depth and name in self._turns]

    def _spare(self, line: str, amounts: Mapping[Column, int]) -> Iterator[tuple[Column, int]]:
        for column, amount in amounts.items():
            if self._tree.cell(line, column) is not None:
                yield column, self._usage.available(line, column).amount - amount

    def _settle(self, name: str) -> None:
        """See which line competes for a queue, those below being settled, and how the queue stands by that."""
        if name in self._nominees:
            champion = name
        else:
            below = [self._standings[one] for one in self._tree.children(name) if one in self._standings]
            champion = min(below)[-1] if below else ""
        if not champion:
            for known in (self._champions, self._standings, self._turns):
                known.pop(name, None)
            return
        self._champions[name] = champion
        turn = self._nominees[champion].turn
        if len(self._tree.path(name)) == 1:
            self._turns[name] = (*turn[:3], name)
        else:
            self._standings[name] = (*turn[:2], *self._competes(name, champion), turn[2], champion)

    def _competes(self, name: str, line: str) -> tuple[bool, Share]:
        """Return whether a queue would borrow of what the line's head asks for, and the share that it would have."""
        amounts = self._nominees[line].takes.amounts
        with self._taken(line, amounts):
            cells = ((column, self._tree.cell(name, column)) for column in amounts)
            borrows = any(cell is not None and self._usage.used(name, *one) > cell.subtree for one, cell in cells)
            return borrows, self._shares.of(name)

    @contextmanager
    def _taken(self, line: str, amounts: Mapping[Column, int]) -> Iterator[None]:
        for (flavor, resource), amount in amounts.items():
            self._usage.add(line, flavor, resource, amount)
        try:
            yield
        finally:
            for (flavor, resource), amount in amounts.items():
                self._usage.add(line, flavor, resource, -amount)
