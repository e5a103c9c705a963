"""What the queues of a tree use of some columns while candidates go, one after the other: it only falls.

`quota.tree_usage` for the one thing that searches for victims ask for most: whether a queue still borrows. So it has
these columns alone, and those of a queue in one row.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf
from operator import gt

from controller.core.quota.quota_tree import Column, QuotaTree
from controller.core.quota.tree_usage import TreeUsage


class Row:
    """Of one queue, by column: what it uses, what is its own (infinite: not counted), what of that it never lends."""

    __slots__ = ("borrows", "local", "own", "used")

    def __init__(self, used: list[int], own: Sequence[float], local: Sequence[int]) -> None:
        self.used = used
        self.own = own
        self.local = local
        self.borrows = any(map(gt, used, own))


class FallingUsage:
    """The usage at every queue of a tree, beginning from what another says; nobody may be tried on while it is asked.

    `known` are the rows of that other, put there as they are asked for; all that go on from it share them.
    """

    def __init__(self, tree: QuotaTree, columns: Sequence[Column], usage: TreeUsage, known: dict[str, Row]) -> None:
        self._tree = tree
        self._columns = columns
        self._usage = usage
        self._known = known
        self._fallen: dict[str, Row] = {}

    def borrows(self, queue: str) -> bool:
        """Say whether a queue uses more of any of these columns than is its own."""
        row = self._fallen.get(queue) or self._known.get(queue)
        return (row or self._look(queue)).borrows

    def take(self, queue: str, held: Iterable[tuple[Column, int]]) -> None:
        """Take what somebody held off a queue and those above it, as `TreeUsage.add` does."""
        path = self._tree.path(queue)
        for column, amount in held:
            at, part = self._columns.index(column), amount
            is_quota = self._tree.cell(queue, column) is not None
            is_counted = is_quota or not self._tree.resources.needs_no_quota(column[1])
            for name in path:
                row = self._fallen.get(name) or self._fall(name)
                used, local = row.used, row.local[at]
                before = used[at]
                used[at] = after = before - part
                if row.borrows:
                    row.borrows = any(map(gt, used, row.own))
                part = max(0, before - local) - max(0, after - local) if is_counted else 0
                if not part:
                    break

    def _fall(self, queue: str) -> Row:
        row = self._known.get(queue) or self._look(queue)
        found = self._fallen[queue] = Row(list(row.used), row.own, row.local)
        return found

    def _look(self, queue: str) -> Row:
        cells = [self._tree.cell(queue, column) for column in self._columns]
        row = self._known[queue] = Row(
            [self._usage.used(queue, *column) for column in self._columns],
            [inf if cell is None else cell.subtree for cell in cells],
            [0 if cell is None else cell.local for cell in cells],
        )
        return row
