"""What the queues of trees would give up to others, as a decision needs it, and what moved since that was known.

Kueue looks at all candidates of all queues for each workload. Most workloads that look find nobody, and look in the
same trees: so what the queues of a tree would give up is known, and where something is charged that of one queue is
looked at again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

from controller.core.candidates.candidate import Candidate, candidate_rank
from controller.core.candidates.reclaimable import ReclaimableCandidates
from controller.core.ledgers.ledger import Ledger
from controller.core.ledgers.simulation import Simulation
from controller.core.preemption.borrowers import Borrowers
from controller.core.preemption.eligibility import Candidates
from controller.core.quota.quota_tree import Column
from controller.core.snapshot import Snapshot


class ReclaimableIndex:
    """Reclaimable candidates by tree and columns, in one decision; those of an earlier one as long as they hold."""

    def __init__(self, snapshot: Snapshot, ledger: Ledger, candidates: Candidates, simulation: Simulation) -> None:
        self._snapshot = snapshot
        self._tree = snapshot.queues.tree
        self._ledger = ledger
        self._candidates = candidates
        self._simulation = simulation
        self.borrowers = Borrowers(snapshot.queues.tree, snapshot.usage.in_tree, ledger)
        self._of: dict[tuple[str, tuple[Column, ...]], ReclaimableCandidates] = {}
        snapshot.memo.reclaimable.catch_up(snapshot.queues.tree)
        self._unsteady = {self._tree.path(queue)[-1] for queue in candidates.moving}

    @property
    def visited(self) -> int:
        """How many candidates were looked at for them."""
        return sum(one.visited for one in self._of.values())

    @property
    def compared(self) -> int:
        """How many candidates were compared with claims."""
        return sum(one.compared for one in self._of.values())

    def of(self, queue: str, columns: tuple[Column, ...]) -> ReclaimableCandidates:
        """Return what the queues of a queue's tree give up of columns of one flavor, itself among them."""
        root = self._tree.path(queue)[-1]
        charged, victims = self._ledger.charged_in(root), self._simulation.queues_in(root)
        reclaimable = self._of.get((root, columns))
        if reclaimable is None:
            reclaimable = self._of[root, columns] = self._begin(root, columns, {*charged, *victims})
        else:
            moved = {*charged[reclaimable.charges :], *victims[reclaimable.victims :]}
            if moved:
                self._move(reclaimable, moved)
        reclaimable.charges, reclaimable.victims = len(charged), len(victims)
        return reclaimable

    def close(self) -> None:
        """End those that are not kept for another decision, and what others have of this one alone."""
        for (root, columns), reclaimable in self._of.items():
            if not self._snapshot.memo.reclaimable.has(root, columns, reclaimable):
                reclaimable.close()
            elif reclaimable.moved:
                reclaimable.move()

    def _begin(self, root: str, columns: tuple[Column, ...], moved: set[str]) -> ReclaimableCandidates:
        """Go on with what is known, or look at all of the tree; some queues `moved` in this decision by now."""
        known, now = self._snapshot.memo.reclaimable, self._snapshot.now
        is_lasting = root not in self._unsteady
        reclaimable = known.get(root, columns, now) if is_lasting else None
        if reclaimable is not None:
            reclaimable.renew(now)
            if reclaimable.moved or moved:
                self._move(reclaimable, reclaimable.moved | moved)
                reclaimable.moved = moved  # what moved before is taken in by now
        else:
            reclaimable = ReclaimableCandidates(columns, now, moved=moved)
            flavors, going = {column[0]: None for column in columns}, self._candidates.going
            self._put(
                reclaimable, {name for flavor in flavors for name in self.borrowers.of(root, flavor, beside=going)}
            )
            if is_lasting and all(map(self._candidates.is_lasting, self._tree.below(root))):
                known.put(root, reclaimable)
        if not moved:
            reclaimable.usage = self._snapshot.usage.in_tree
        return reclaimable

    def _move(self, reclaimable: ReclaimableCandidates, moved: set[str]) -> None:
        """Take in that these queues moved; what they give up now, another decision may not know."""
        reclaimable.move()
        reclaimable.moved |= moved
        self._put(reclaimable, moved)

    def givers(self, reclaimable: ReclaimableCandidates, queue: str) -> list[str]:
        """Return the queues that give anybody up to a queue: they borrow, or their pods go anyway; it may be one."""
        above = self.above(queue)
        known = reclaimable.givers.get(above)
        if known is None:
            borrows = reclaimable.borrows.__getitem__
            known = reclaimable.givers[above] = [
                one
                for one, line in reclaimable.by_queue.items()
                if line.known and (self._candidates.going_of(one) or is_over(self._tree.path(one), above, borrows))
            ]
        return known

    def above(self, queue: str) -> tuple[str, ...]:
        """Return the queues on a queue's path that have others below them: those to which it is near."""
        path = self._tree.path(queue)
        return path if self._tree.children(queue) else path[1:]

    def outside(self, reclaimable: ReclaimableCandidates, queue: str, level: int) -> frozenset[str]:
        """Return those of the givers that meet a queue's path higher than this level; it is not one of them."""
        above, tree = self.above(queue), self._tree
        known = reclaimable.outside.get((above, level))
        if known is None:
            meets = {
                name: next(one for one in tree.path(name) if one in above) for name in self.givers(reclaimable, queue)
            }
            found = (name for name, meeting in meets.items() if tree.height(meeting) > level)
            known = reclaimable.outside[above, level] = frozenset(found)
        return known - {queue} if queue in known else known

    def _put(self, reclaimable: ReclaimableCandidates, moved: Collection[str]) -> None:
        """Look at these queues, and at what is above them."""
        usage, above = self._ledger.usage, {above for one in moved for above in self._tree.path(one)}
        for name in above:
            reclaimable.borrows[name] = usage.borrows(name, reclaimable.columns)
        for name in {*moved, *(above & reclaimable.by_queue.keys())}:
            is_any = self._candidates.going_of(name) or usage.borrows(name, reclaimable.columns)
            candidates = self._in_order(name, reclaimable.columns) if is_any else ()
            # what is kept must not know who goes in this decision
            reclaimable.put(
                name, usage, candidates, self._simulation.victims if name in reclaimable.moved else frozenset()
            )

    def _in_order(self, name: str, columns: tuple[Column, ...]) -> Sequence[Candidate]:
        """Return those of a queue that have anything of the flavors of these columns, in order."""
        flavors = {column[0]: None for column in columns}
        if len(flavors) == 1:
            return self._candidates.of(name, columns[0][0])
        found = {one.key: one for flavor in flavors for one in self._candidates.of(name, flavor)}
        return sorted(found.values(), key=lambda one: candidate_rank(one, name))


def is_over(path: Iterable[str], above: Collection[str], borrows: Callable[[str], bool]) -> bool:
    """Say whether a queue, and all those above it on its path that are not in `above` too, use more than their own."""
    for one in path:
        if one in above:
            return True
        if not borrows(one):
            return False
    return False
