"""What is used at each queue of a quota tree, and what is left there: the changing half of `core.quota_tree`.

A queue's usage is charged to itself; only the part beyond its local quota is its parent's, and so on up to the root.
Adding and taking away are inverses of each other, in any order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from controller.core.amounts import PODS
from controller.core.quota_tree import Column, QuotaTree, UsageKey


@dataclass(frozen=True, slots=True)
class Available:
    """What one queue may still use of a column, and whose quota is the narrowest on its path."""

    amount: int
    at: str


class TreeUsage:
    """Usage at every queue of a tree, beginning from sums that are not changed."""

    def __init__(self, tree: QuotaTree, base: Mapping[UsageKey, int] | None = None) -> None:
        self._tree = tree
        self._base = base or {}
        self.sums: dict[UsageKey, int] = {}
        """What was added since, at every queue where anything was."""

    def fork(self) -> TreeUsage:
        """Return one that goes on from here by itself."""
        other = TreeUsage(self._tree, self._base)
        other.sums = dict(self.sums)
        return other

    def used(self, queue: str, flavor: str, resource: str) -> int:
        """Return what is used there; flavor empty: the total of a resource that the queue limits."""
        return self._used((queue, flavor, resource))

    def add(self, queue: str, flavor: str, resource: str, amount: int) -> None:
        """Charge an amount to a queue and those above it, or, where it is negative, take it back.

        Pods of a queue that has no quota for `pods` are not those above it's either.
        """
        chain = self._tree.chain(queue, (flavor, resource))
        is_counted = resource != PODS or chain[0].cell is not None
        part = amount
        for link in chain:
            if link.total is not None:
                self._shift(link.total, amount)
            if not part:
                continue
            before, local = self._used(link.key), link.cell.local if link.cell is not None else 0
            self._shift(link.key, part)
            part = max(0, before + part - local) - max(0, before - local) if is_counted else 0

    def _used(self, key: UsageKey) -> int:
        return self._base.get(key, 0) + self.sums.get(key, 0)

    def _shift(self, key: UsageKey, amount: int) -> None:
        total = self.sums.get(key, 0) + amount
        if total:
            self.sums[key] = total
        else:
            self.sums.pop(key, None)

    def available(self, queue: str, column: Column) -> Available:
        """Return `available` of Kueue: own quota that is left, and what can be borrowed. Below zero: over quota."""
        amount, at = 0, queue
        for index, link in enumerate(reversed(self._tree.chain(queue, column))):
            cell, used = link.cell, self._used(link.key)
            if cell is None:
                continue
            if index == 0:
                amount, at = cell.subtree - used, link.key[0]
                continue
            if cell.borrowing_limit is not None:
                cap = cell.subtree - cell.local - max(0, used - cell.local) + cell.borrowing_limit
                if cap < amount:
                    amount, at = cap, link.key[0]
            if used < cell.local:
                amount += cell.local - used
        return Available(amount, at)

    def borrowing_level(self, queue: str, column: Column, amount: int) -> int:
        """Return 0 where the queue's own quota holds the amount too, else the height of the lowest above whose does.

        Mirrors `FindHeightOfLowestSubtreeThatFits`.
        """
        chain = self._tree.chain(queue, column)
        left = amount
        for link in chain:
            used = self._used(link.key)
            if link.cell is None or used + left <= link.cell.subtree:
                return link.height
            left -= max(0, link.cell.local - used)
        return chain[-1].height
