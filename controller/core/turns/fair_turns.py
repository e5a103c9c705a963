"""Whose turn it is where a tree shares fairly: Kueue's tournament, among those who can go in at this moment.

At each queue those below it compete: who need not borrow before who has to, then the smaller share, the head's demand
counted in, then the order; the winner competes for that queue on the next level. Only heads that fit take part, or
that others would be preempted for: by its share one that cannot go in would hold up, or let pass, those behind it, and
what comes of that would depend on when it is found out.

Most lines need no look for that: one that by its share and its place would not win even if its head fitted is left
alone until those before it have gone.
"""

from __future__ import annotations

import sys
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from heapq import heappop, heappush
from itertools import pairwise
from math import inf
from typing import Final, NamedTuple

from controller.core.kubernetes.amounts import Requests
from controller.core.ledgers.ledger import Ledger
from controller.core.queueing.fair_sharing_policy import Share
from controller.core.quota.fair_sharing import FairShares
from controller.core.snapshot import Snapshot
from controller.core.turns.nominations import Nominations, Nominee, Takes, Turn
from controller.core.workloads.workload import OrderKey, WorkloadClass

_BEFORE_ALL: Final[OrderKey] = (-sys.maxsize, -inf, -sys.maxsize, -inf, "", "", ())


class _QueueRank(NamedTuple):
    """How a queue competes with others below the same one; the least wins. The order is total."""

    is_behind: bool
    borrows: bool
    share: Share
    order: OrderKey
    line: str


class FairTurns:
    """The lines of all trees that share fairly; a line is a cluster queue in which workloads wait."""

    def __init__(
        self,
        snapshot: Snapshot,
        ledger: Ledger,
        nominate: Callable[[str], Nominee | None],
        earliest: Callable[[str], Turn | None],
    ) -> None:
        """`nominate` looks at the head of a line and returns it if it can go in; else another is the head by then.

        `earliest` says, with no look at quota and room, before which turn none of that line comes; None: it is empty.
        """
        self._tree = tree = snapshot.queues.tree
        self._ledger = ledger
        self._usage = ledger.usage
        self._shares = FairShares(tree, ledger.usage, snapshot.memo.shares.of(tree, snapshot.usage.in_tree))
        self._charged: dict[str, int] = {}
        """By root how often anything was charged, of what the shares take in."""
        self._nominate = nominate
        self._earliest = earliest
        self._nominees = Nominations(tree, ledger)
        self._open: set[str] = set()
        """Queues whose standing is only known to be no better than it is written: lines to be looked at are below."""
        self._unseen: set[str] = set()
        """Lines that are to be looked at."""
        self._champions: dict[str, str] = {}
        """By queue the line that competes for it."""
        self._ranks: dict[str, _QueueRank] = {}
        self._below: dict[str, list[tuple[_QueueRank, str]]] = {}
        """By queue a heap of the standings of those directly below it, and of some that are over."""
        self._turns: dict[str, Turn] = {}

    def has(self, line: str) -> bool:
        """Say whether a line is in a tree that shares fairly."""
        return self._tree.path(line)[-1] in self._tree.fair_roots

    def enter(self, lines: Iterable[str], bring_up: Callable[[Sequence[str]], Iterable[str]]) -> list[Turn]:
        """Let lines take part, tree by tree; return the turns of their trees.

        `bring_up` is asked when a tree is to be looked at which of its lines have a head by now.
        """
        by_root: dict[str, list[str]] = {}
        for line in lines:
            by_root.setdefault(self._tree.path(line)[-1], []).append(line)
        return [turn for root in sorted(by_root) for turn in self._look_at(bring_up(by_root[root]))]

    def line_of(self, turn: Turn) -> str | None:
        """Return the line whose turn it is; None where another line of its tree has the turn by now."""
        *_, name = turn
        if name not in self._tree.fair_roots:
            return name
        return self._champions.get(name) if self._turns.get(name) == turn else None

    def nominee(self, line: str) -> Nominee | None:
        """Return who was found able to go in, while that holds."""
        return self._nominees.of.get(line)

    def lasts(self, line: str, takes: Takes, most: int, turn_at: Callable[[int], Turn]) -> int:
        """Return how many more of its head's class a line may let go at once, at most so many, one having gone.

        No other line is looked at again meanwhile, and where shares decide the turn is the line's each time. `takes` is
        what each takes; `turn_at` says the line's turn once so many more have gone.
        """
        most = min(most, self._nominees.lasts(line, takes) - 1)
        if most <= 0 or not self.has(line):
            return most
        nominee = self.nominee(line)
        if nominee is None or not nominee.is_lasting or nominee.takes.amounts != takes.amounts:
            return 0
        path = self._tree.path(line)
        rivals = [(name, rival) for name, above in pairwise(path) if (rival := self._rival(name, above)) is not None]

        def loses(number: int) -> bool:
            turn = turn_at(number)
            return any(self._rank(name, line, turn, number + 1) > rival for name, rival in rivals)

        # it borrows more with each, and those behind come later in the order
        return bisect_left(range(most), True, key=loses) if rivals else most

    def lasts_on(self, nodes: Sequence[str | None], requests: Requests) -> int:
        """Return how many pods that ask for this may go to these nodes before another line is looked at again."""
        return self._nominees.lasts_on(nodes, requests)

    def moved(self, line: str, taken: Takes, head: tuple[WorkloadClass, Turn] | None) -> list[Turn]:
        """A line has had its turn, in whatever tree; return the turns that come of that.

        `head`: which class is at the head of the line now, and its turn.
        """
        root = self._tree.path(line)[-1]
        again = self._nominees.outdated(line, taken)
        if root not in self._tree.fair_roots:
            return self._look_at(again)
        nominee = None if line in again else self._nominees.of.get(line)
        # jobs make many pods at once: of one class, what was found for the last holds for the next
        if nominee is not None and nominee.is_lasting and head is not None and head[0] == nominee.kind:
            nominee.turn = head[1]
            return self._look_at(again, stands=line)
        return self._look_at(again | {line})

    def _look_at(self, lines: Iterable[str], *, stands: str = "") -> list[Turn]:
        """See whose turn it is where these are to be looked at anew; most need no look before others have gone.

        Quota and room only shrink: who could not go in early on cannot later. Beside preemptors a later look may find
        more, and is the better one: what others leave who go for those before it counts. `stands`: a line whose nominee
        holds, and may stand elsewhere now.
        """
        opened = sorted(lines)
        for line in opened:
            self._nominees.put(line, None)
            self._unseen.add(line)
        if stands:
            opened.append(stands)
        for line in opened:
            self._reopen(line)
        roots = sorted({self._tree.path(line)[-1] for line in opened})
        for root in roots:
            self._settle(root)
        return [self._turns[root] for root in roots if root in self._turns]

    def _reopen(self, line: str) -> None:
        """Let a line, and those above it, stand where they would at best be."""
        for name, above in pairwise((*self._tree.path(line), "")):
            if name in self._open:
                break
            self._open.add(name)
            if above:
                self._stand(name, above, self._at_best(name, line))

    def _at_best(self, name: str, line: str) -> _QueueRank:
        """Return a standing that a queue will not be before, whoever competes for it of those below."""
        turn = self._earliest(line) if name == line and not self._tree.children(name) else None
        is_behind, order, _ = turn or (False, _BEFORE_ALL, "")
        return _QueueRank(is_behind, False, self._share(name), order, line)

    def _share(self, name: str) -> Share:
        root = self._tree.path(name)[-1]
        charged, seen = self._ledger.charged_in(root), self._charged.get(root, 0)
        if len(charged) > seen:
            self._shares.forget(charged[seen:])
            self._charged[root] = len(charged)
        return self._shares.kept(name)

    def _stand(self, name: str, above: str, rank: _QueueRank) -> None:
        self._ranks[name] = rank
        heappush(self._below.setdefault(above, []), (rank, name))

    def _settle(self, name: str) -> None:
        """See which line competes for a queue, and how the queue stands by that.

        Where the head of a line cannot go the next one stands behind it, and perhaps behind others: it is their turn
        then to be looked at, so that who has a reservation does not rest on who is blocked before it.
        """
        while name in self._unseen:
            nominee = self._nominate(name)
            if nominee is None and self._earliest(name) is not None:
                if self._stands_again(name):
                    return
                continue
            self._unseen.discard(name)
            self._nominees.put(name, nominee)
        champion = name if name in self._nominees.of else self._best_below(name)
        self._open.discard(name)
        if not champion:
            for known in (self._champions, self._ranks, self._turns):
                known.pop(name, None)
            return
        self._champions[name] = champion
        turn, path = self._nominees.of[champion].turn, self._tree.path(name)
        if len(path) == 1:
            self._turns[name] = (*turn[:2], name)
        else:
            self._stand(name, path[1], self._rank(name, champion, turn, 1))

    def _stands_again(self, name: str) -> bool:
        """Let a line that is still to be looked at stand where its next head would at best be, if it has rivals."""
        path = self._tree.path(name)
        if len(path) == 1:
            return False
        self._stand(name, path[1], self._at_best(name, name))
        return True

    def _rank(self, name: str, line: str, turn: Turn, number: int) -> _QueueRank:
        """Return how a queue stands by a line's turn, once so many less one of its head's class have gone."""
        return _QueueRank(turn[0], *self._competes(name, line, number), turn[1], line)

    def _best_below(self, name: str) -> str:
        """Return the line that wins among those directly below a queue; empty: none competes."""
        heap = self._below.get(name, [])
        while heap:
            rank, below = heap[0]
            if self._ranks.get(below) is not rank:
                heappop(heap)
            elif below in self._open:
                heappop(heap)
                self._settle(below)
            else:
                return rank.line
        return ""

    def _rival(self, name: str, above: str) -> _QueueRank | None:
        """Return the best standing of those directly below a queue, but for this one."""
        heap, own = self._below.get(above, []), None
        while heap and (heap[0][1] == name or self._ranks.get(heap[0][1]) is not heap[0][0]):
            rank, below = heappop(heap)
            if self._ranks.get(below) is rank:
                own = (rank, below)
        rival = heap[0][0] if heap else None
        if own is not None:
            heappush(heap, own)
        return rival

    def _competes(self, name: str, line: str, number: int) -> tuple[bool, Share]:
        """Return whether a queue would borrow of what so many like the line's head ask for, and the share then."""
        amounts = self._nominees.of[line].takes.amounts
        more = {column: self._usage.rise(line, column, amount * number, name) for column, amount in amounts.items()}
        return self._usage.exceeds(name, more), self._shares.of(name, more)
