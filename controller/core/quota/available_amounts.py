"""What every queue of a quota tree may still use of every column, worked out for all of them at once in arrays.

The arithmetic is that of `tree_usage.TreeUsage.available`, level by level from the roots down. Amounts from `MOST` on
are not told apart, so an answer may be more than there is, and never less.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from controller.core.quota.quota_tree import QuotaTree, UsageKey
from controller.core.quota.tree_usage import TreeUsage, UsageCounter

Amounts = NDArray[np.int64]

MOST: Final = 2**60
"""An exbibyte of memory, or as many millicores: sums of a few of these still fit into 64 bits."""


class QuotaRows:
    """The columns of each queue in rows, those of parents before those of their children. Changes only with the tree.

    `row_of` says in which row a queue's column is.
    """

    def __init__(self, tree: QuotaTree) -> None:
        names = sorted(tree.names, key=lambda name: (len(tree.path(name)), name))
        found = [((name, *column), cell) for name in names for column, cell in tree.cells(name).items()]
        self.row_of: dict[UsageKey, int] = {key: row for row, (key, _) in enumerate(found)}
        self._counters: tuple[TreeUsage, list[UsageCounter]] | None = None
        """What counts in each row, of the usage that was asked last."""
        cells = [cell for _, cell in found]
        limits = [one.borrowing_limit for one in cells]
        self._subtree = amounts_of(one.subtree for one in cells)
        self._local = amounts_of(one.local for one in cells)
        self._most_borrowed = amounts_of(
            MOST if limit is None else one.subtree - one.local + limit for one, limit in zip(cells, limits, strict=True)
        )
        self._is_large = np.array([one.subtree >= MOST for one in cells], dtype=np.bool_)
        paths = [tree.path(key[0]) for key, _ in found]
        keys = [(*path[1:2], *key[1:]) for path, (key, _) in zip(paths, found, strict=True)]
        above = (self.row_of[key] if len(path) > 1 else 0 for path, key in zip(paths, keys, strict=True))
        self._parent = np.fromiter(above, dtype=np.intp, count=len(found))
        depths = np.fromiter(map(len, paths), dtype=np.intp, count=len(found))
        self._levels = [np.flatnonzero(depths == depth) for depth in range(2, int(depths.max(initial=0)) + 1)]

    def used(self, usage: TreeUsage) -> Amounts:
        """Return by row what is used there."""
        if self._counters is None or self._counters[0] is not usage:
            self._counters = usage, usage.counters(self.row_of)
        return amounts_of([one.used for one in self._counters[1]])

    def used_with(self, used: Amounts, more: Mapping[UsageKey, int]) -> Amounts:
        """Return by row what is used once so much more is, by key."""
        found = used.copy()
        for key, amount in more.items():
            row = self.row_of.get(key)
            if row is not None:
                found[row] = bounded(int(found[row]) + amount)
        return found

    def available(self, used: Amounts) -> Amounts:
        """Return by row what may still be used beside this; below zero where more is used than may be."""
        spare = np.maximum(0, self._local - used)
        found = np.where(self._is_large, MOST, self._subtree - used)
        for level in self._levels:
            most = self._most_borrowed[level]
            borrowed = np.maximum(0, used[level] - self._local[level])
            bound = np.where(most < MOST, most - borrowed, MOST)
            left = np.minimum(MOST, np.minimum(found[self._parent[level]], bound) + spare[level])
            found[level] = np.where(self._is_large[level], MOST, left)
        return found


def bounded(amount: int) -> int:
    """Return an amount as arrays have it."""
    return max(-MOST, min(MOST, amount))


def amounts_of(amounts: Iterable[int]) -> Amounts:
    """Return amounts in an array."""
    values = list(amounts)
    try:
        return np.clip(np.array(values, dtype=np.int64), -MOST, MOST)
    except OverflowError:
        return np.array([bounded(one) for one in values], dtype=np.int64)
