"""What is used at each queue of a quota tree, and what is left there: the changing half of `core.quota_tree`.

A queue's usage is charged to itself; only the part beyond its local quota is its parent's, and so on up to the root.
Adding and taking away are inverses of each other, in any order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from controller.core.amounts import PODS
from controller.core.quota_tree import Column, QuotaTree

UsageKey = tuple[str, str, str]
"""(cluster queue, flavor, resource); flavor empty: all that the queue and those below it use, of whichever flavor."""


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

    def used(self, queue: str, flavor: str, resource: str) -> int:
        """Return what is used there; flavor empty: the total of a resource that the queue limits."""
        key = (queue, flavor, resource)
        return self._base.get(key, 0) + self.sums.get(key, 0)

    def add(self, queue: str, flavor: str, resource: str, amount: int) -> None:
        """Charge an amount to a queue and those above it, or, where it is negative, take it back.

        Pods of a queue that has no quota for `pods` are not those above it's either.
        """
        is_counted = resource != PODS or self._tree.cell(queue, (flavor, resource)) is not None
        part = amount
        for name in self._tree.path(queue):
            if resource in self._tree.limits(name):
                self._shift((name, "", resource), amount)
            cell = self._tree.cell(name, (flavor, resource))
            local = cell.local if cell is not None else 0
            before = self.used(name, flavor, resource)
            if part:
                self._shift((name, flavor, resource), part)
            part = max(0, before + part - local) - max(0, before - local) if is_counted else 0

    def _shift(self, key: UsageKey, amount: int) -> None:
        total = self.sums.get(key, 0) + amount
        if total:
            self.sums[key] = total
        else:
            self.sums.pop(key, None)

    def available(self, queue: str, column: Column) -> Available:
        """Return `available` of Kueue: own quota that is left, and what can be borrowed. Below zero: over quota."""
        found = Available(0, queue)
        for index, name in enumerate(reversed(self._tree.path(queue))):
            cell = self._tree.cell(name, column)
            if cell is None:
                continue
            used = self.used(name, *column)
            if index == 0:
                found = Available(cell.subtree - used, name)
                continue
            offered = found
            if cell.borrowing_limit is not None:
                cap = cell.subtree - cell.local - max(0, used - cell.local) + cell.borrowing_limit
                offered = Available(cap, name) if cap < found.amount else found
            found = Available(max(0, cell.local - used) + offered.amount, offered.at)
        return found

    def borrowing_level(self, queue: str, column: Column, amount: int) -> int:
        """Return 0 where the queue's own quota holds the amount too, else the height of the lowest above whose does.

        Mirrors `FindHeightOfLowestSubtreeThatFits`.
        """
        path = self._tree.path(queue)
        left = amount
        for name in path:
            cell = self._tree.cell(name, column)
            used = self.used(name, *column)
            if cell is None or used + left <= cell.subtree:
                return self._tree.height(name)
            left -= max(0, cell.local - used)
        return self._tree.height(path[-1])
