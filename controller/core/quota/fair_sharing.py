"""The dominant resource share, by which queues of a tree share fairly: what a queue has borrowed, by its weight.

Mirrors Kueue's `DominantResourceShare`. Shares are exact, so that no order rests on rounding.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Final, NamedTuple

from controller.core.queueing.fair_sharing_policy import ONE_THOUSANDTH, Share, share_of
from controller.core.quota.quota_tree import Column, QuotaTree
from controller.core.quota.surplus import Surplus
from controller.core.quota.tree_usage import TreeUsage

_INFINITE: Final = 2**63 - 1
"""How Kueue writes an infinite share."""

NOTHING: Final = share_of(0, 1)
"""The share of who borrows nothing."""

Ranked = tuple[Share, int, str]
"""A queue's share, its number among those right below the same one, and its name."""

_MOST_ASKING: Final = 2_000
"""So many demands are remembered of one queue."""
_NO_MORE: Final[Mapping[Column, int]] = {}


def shown(share: Share) -> int:
    """Return a share as a status says it: rounded up."""
    return _INFINITE if share.is_infinite else -(-share.exact // ONE_THOUSANDTH)


class Demand(NamedTuple):
    """What somebody asks for: its queue, and how much of which columns."""

    queue: str
    amounts: tuple[tuple[Column, int], ...]


class FairShares:
    """The shares of the queues of a tree by what is used there at the moment.

    What is kept of a queue, and of those below it, holds until `forget`.
    """

    def __init__(self, tree: QuotaTree, usage: TreeUsage, base: FairShares | None = None) -> None:
        """`base` says the same of all that is not forgotten here, and lasts longer."""
        self._tree = tree
        self._usage = usage
        self._base = base
        self._moved: set[str] = set()
        self._lendable: dict[str, Mapping[str, int]] = {} if base is None else base._lendable
        self._kept: dict[str, Share] = {}
        self._asking: dict[str, dict[Demand, Share]] = {}
        self._ranked: dict[str, list[Ranked]] = {}
        self._borrowers: dict[tuple[str, str], dict[str, None]] = {}
        self._parts: dict[tuple[str, str], AbstractSet[str]] = {}

    def kept(self, queue: str) -> Share:
        """Return the share of a queue."""
        if self._base is not None and queue not in self._moved:
            return self._base.kept(queue)
        known = self._kept.get(queue)
        if known is None:
            known = self._kept[queue] = self.of(queue)
        return known

    def asking(self, queue: str, demand: Demand) -> Share:
        """Return the share of a queue with a demand counted in that is made at or below it."""
        if self._base is not None and queue not in self._moved:
            return self._base.asking(queue, demand)
        known = self._asking.setdefault(queue, {}).get(demand)
        if known is None:
            if len(self._asking[queue]) >= _MOST_ASKING:
                self._asking[queue].clear()
            known = self._asking[queue][demand] = self.of(queue, self.rise(queue, demand))
        return known

    def rise(self, queue: str, demand: Demand) -> Mapping[Column, int]:
        """Return by how much the usage of a queue would rise by a demand."""
        return {column: self._usage.rise(demand.queue, column, amount, queue) for column, amount in demand.amounts}

    def forget(self, queues: Iterable[str]) -> None:
        """Work out anew what these queues have, and those above them, now that what they use is another."""
        for name in {name for queue in queues for name in self._tree.path(queue)}:
            self._moved.add(name)
            for known in (self._kept, self._asking, self._ranked):
                known.pop(name, None)
            if not self._borrowers:
                continue
            root = self._tree.path(name)[-1]
            borrowed = self._usage.borrowed(name)
            for (at, flavor), borrowers in self._borrowers.items():
                if at == root:
                    self._parts.pop((at, flavor), None)
                    borrowers.pop(name, None)
                    if flavor in borrowed:
                        borrowers[name] = None

    def borrowers(self, root: str, flavor: str) -> Collection[str]:
        """Return the queues of the tree that use more of a flavor than is their own."""
        if self._base is not None and root not in self._moved:
            return self._base.borrowers(root, flavor)
        known = self._borrowers.get((root, flavor))
        if known is None:
            columns = [column for column in self._tree.columns(root) if column[0] == flavor]
            found = (name for name in self._tree.below(root) if self._usage.borrows(name, columns))
            known = self._borrowers[root, flavor] = dict.fromkeys(found)
        return known

    def parts(self, root: str, flavor: str) -> AbstractSet[str]:
        """Return those queues of the tree, and all above them: elsewhere nobody has anything borrowed of a flavor."""
        if self._base is not None and root not in self._moved:
            return self._base.parts(root, flavor)
        known = self._parts.get((root, flavor))
        if known is None:
            found = (above for name in self.borrowers(root, flavor) for above in self._tree.path(name))
            known = self._parts[root, flavor] = set(found)
        return known

    def ranked(self, above: str) -> Sequence[Ranked]:
        """Return those right below a queue that borrow, the largest shares last."""
        if self._base is not None and above not in self._moved:
            return self._base.ranked(above)
        known = self._ranked.get(above)
        if known is None:
            found = ((self.kept(name), number, name) for number, name in enumerate(self._tree.children(above)))
            known = self._ranked[above] = sorted(one for one in found if one[0] != NOTHING)
        return known

    def of(self, queue: str, more: Mapping[Column, int] = _NO_MORE) -> Share:
        """Return of each resource the part that the queue borrows of all that it could get; the largest, by weight.

        `more` is counted in. A root borrows from nobody. A queue of weight 0 that borrows has an infinite share.
        """
        path = self._tree.path(queue)
        if len(path) == 1:
            return NOTHING
        borrowed = self._usage.borrowed_amounts(queue, more)
        if not borrowed:
            return NOTHING
        lendable = self._lendable_at(path[1])
        most, of = 0, 1
        for resource, amount in borrowed.items():
            whole = lendable[resource]
            if whole and amount * of > most * whole:
                most, of = amount, whole
        if not most:
            return NOTHING  # of what nobody could lend
        weight = self._tree.weight(queue)
        part, whole = 1000 * most * weight.denominator, of * (weight.numerator or weight.denominator)
        return share_of(part, whole, is_infinite=not weight)

    def keep(self, queue: str, flavor: str) -> None:
        """Let what is kept of the queues above one, and beside those, be that of now, before anybody is tried away."""
        self.parts(self._tree.path(queue)[-1], flavor)
        for name in self._tree.path(queue):
            self.ranked(name)

    def surplus(self, queue: str, giver: str, share: Share) -> Surplus:
        """Return what one at or below a queue may give up so that the queue's share is no smaller than this one."""
        is_infinite, _, exact = share
        weight, least = self._tree.weight(queue), dict[str, int]()
        for resource, whole in self._lendable_at(self._tree.path(queue)[1]).items():
            if not whole or (is_infinite and weight):
                continue
            if not weight and not is_infinite:
                least[resource] = 1 if exact else 0
                continue
            part, of = exact * whole * (weight.numerator or 1), 1000 * weight.denominator * ONE_THOUSANDTH
            least[resource] = -(-part // of)
        return Surplus(self._usage, queue, giver, least)

    def _lendable_at(self, parent: str) -> Mapping[str, int]:
        """Return by resource what queues below could get at most, over the flavors of the whole tree.

        Mirrors `calculateLendable`.
        """
        known = self._lendable.get(parent)
        if known is None:
            path = self._tree.path(parent)
            sums: dict[str, int] = {}
            for column in self._tree.columns(path[-1]):
                # a flavor that only other parts of the tree have comes through the next above that has it
                cells = (self._tree.cell(one, column) for one in path)
                potential = next((cell.potential for cell in cells if cell is not None), 0)
                sums[column[1]] = sums.get(column[1], 0) + potential
            known = self._lendable[parent] = sums
        return known


class KnownShares:
    """The shares as the cache counts what is used. Mutable: kept by the cache, filled by `decide`."""

    def __init__(self) -> None:
        self._usage: TreeUsage | None = None
        self._shares: FairShares | None = None
        self._moved: set[str] = set()

    def of(self, tree: QuotaTree, usage: TreeUsage) -> FairShares:
        """Return the shares in a tree, of which the usage is that of the queues as they were charged last."""
        if self._shares is None or usage is not self._usage:
            self._usage, self._shares = usage, FairShares(tree, usage)
        elif self._moved:
            self._shares.forget(self._moved)
        self._moved.clear()
        return self._shares

    def forget(self, queues: Iterable[str]) -> None:
        """Take in that what these queues use is another."""
        self._moved.update(queues)
