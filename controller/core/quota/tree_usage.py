"""What is used at each queue of a quota tree, and what is left there: the changing half of `quota.quota_tree`.

A queue's usage is charged to itself; only the part beyond its local quota is its parent's, and so on up to the root.
Adding and taking away are inverses of each other, in any order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from controller.core.kubernetes.amounts import Requests
from controller.core.quota.quota_tree import Column, Link, QuotaTree, UsageKey


class Available(NamedTuple):
    """What one queue may still use of a column, and whose quota is the narrowest on its path."""

    amount: int
    at: str


class UsageCounter:
    """A link of the tree with what is used there: objects, for a decision asks for them more than for anything else."""

    __slots__ = ("before", "is_quota", "local", "most_borrowed", "name", "subtree", "total", "used")

    def __init__(self, link: Link, used: int, total: UsageCounter | None) -> None:
        cell = link.cell
        self.name = link.key[0]
        self.before = self.used = used
        self.total = total
        self.is_quota = cell is not None
        self.subtree, self.local = (0, 0) if cell is None else (cell.subtree, cell.local)
        limit = None if cell is None else cell.borrowing_limit
        self.most_borrowed = None if limit is None else self.subtree - self.local + limit


class TreeUsage:
    """Usage at every queue of a tree, beginning from what another says, which must not change meanwhile."""

    def __init__(self, tree: QuotaTree, base: TreeUsage | None = None) -> None:
        self._tree = tree
        self._base = base
        self._start: dict[UsageKey, int] = {}
        """What was used at the beginning where the base says otherwise."""
        self._rows: dict[UsageKey, UsageCounter] = {}
        self._paths: dict[tuple[str, Column], tuple[UsageCounter, ...]] = {}
        self._cells: dict[str, tuple[tuple[Column, UsageCounter], ...]] = {}

    @property
    def sums(self) -> Mapping[UsageKey, int]:
        """What was added since, at every queue where anything was."""
        return {key: row.used - row.before for key, row in self._rows.items() if row.used != row.before}

    def fork(self) -> TreeUsage:
        """Return one that goes on from here by itself."""
        other = TreeUsage(self._tree, self._base)
        moved = ((key, row.used) for key, row in self._rows.items() if row.used != row.before)
        other._start = {**self._start, **dict(moved)}
        return other

    def used(self, queue: str, flavor: str, resource: str) -> int:
        """Return what is used there; flavor empty: the total of a resource that the queue limits."""
        row = self._rows.get((queue, flavor, resource))
        return self._used_before((queue, flavor, resource)) if row is None else row.used

    def counters(self, keys: Iterable[UsageKey]) -> list[UsageCounter]:
        """Return what counts at each of these, for who reads all of them time and again."""
        return [self._path(queue, (flavor, resource))[0] for queue, flavor, resource in keys]

    def _used_before(self, key: UsageKey) -> int:
        known = self._start.get(key)
        if known is not None:
            return known
        base = self._base
        if base is None:
            return 0
        row = base._rows.get(key)
        return base._used_before(key) if row is None else row.used

    def beyond(self, queue: str, column: Column) -> int:
        """Return how much more of a column a queue uses than is its own; below zero: what of it is left."""
        cell = self._tree.cell(queue, column)
        return 0 if cell is None else self.used(queue, *column) - cell.subtree

    def borrows(self, queue: str, columns: Iterable[Column]) -> bool:
        """Say whether a queue uses more of any of these columns than is its own."""
        return any(self.beyond(queue, column) > 0 for column in columns)

    def borrowed(self, queue: str) -> set[str]:
        """Return the flavors of which a queue uses more than is its own."""
        cells, used = self._tree.cells(queue), self.used
        return {flavor for (flavor, name), cell in cells.items() if used(queue, flavor, name) > cell.subtree}

    def exceeds(self, queue: str, more: Mapping[Column, int]) -> bool:
        """Say whether a queue, with this much more of some columns, uses more of any of these than is its own."""
        for column, amount in more.items():
            row = self._path(queue, column)[0]
            if row.is_quota and row.used + amount > row.subtree:
                return True
        return False

    def borrowed_amounts(self, queue: str, more: Mapping[Column, int]) -> Mapping[str, int]:
        """Return by resource how much more a queue uses than is its own, over all flavors, this much `more` used."""
        cells = self._cells.get(queue)
        if cells is None:
            found = ((column, self._path(queue, column)[0]) for column in self._tree.cells(queue))
            cells = self._cells[queue] = tuple(found)
        amounts: dict[str, int] = {}
        for column, row in cells:
            over = row.used - row.subtree
            if column in more:
                over += more[column]
            if over > 0:
                amounts[column[1]] = amounts.get(column[1], 0) + over
        return amounts

    def add(self, queue: str, flavor: str, resource: str, amount: int, *, is_only_held: bool = False) -> None:
        """Charge an amount to a queue and those above it, or, where it is negative, take it back.

        What needs no quota (pods, what quota leaves out) is not counted above a queue that has none for it.
        `is_only_held`: what is charged to another flavor already, so that limits on all flavors do not count it twice.
        """
        path = self._path(queue, (flavor, resource))
        is_counted = path[0].is_quota or not self._tree.resources.needs_no_quota(resource)
        part = amount
        for row in path:
            if row.total is not None and not is_only_held:
                row.total.used += amount
            if not part:
                continue
            before, local = row.used, row.local
            row.used = after = before + part
            part = (max(0, after - local) - max(0, before - local)) if is_counted else 0

    def rise(self, queue: str, column: Column, amount: int, at: str) -> int:
        """Return by how much usage at a queue would rise if this amount were charged to the one below it."""
        path = self._path(queue, column)
        if not path[0].is_quota and self._tree.resources.needs_no_quota(column[1]):
            return amount if at == queue else 0
        part = amount
        for row in path:
            if row.name == at or not part:
                break
            if row.local:
                part = max(0, row.used + part - row.local) - max(0, row.used - row.local)
        return part

    def available(self, queue: str, column: Column) -> Available:
        """Return `available` of Kueue: own quota that is left, and what can be borrowed. Below zero: over quota."""
        path = self._path(queue, column)
        root = path[-1]
        amount, at = (root.subtree - root.used, root.name) if root.is_quota else (0, queue)
        for row in path[-2::-1]:
            used, local = row.used, row.local
            if row.most_borrowed is not None:
                cap = row.most_borrowed - (used - local if used > local else 0)
                if cap < amount:
                    amount, at = cap, row.name
            if used < local:
                amount += local - used
        return Available(amount, at)

    def bounds(self, queue: str, column: Column) -> Iterator[Available]:
        """Yield what each of those on its path that set a bound leaves a queue; `available` is the least of them.

        Each falls by no more than is charged to queues below that one.
        """
        path = self._path(queue, column)
        own = 0
        for row in path[:-1]:
            own += max(0, row.local - row.used)
            if row.most_borrowed is not None:
                yield Available(row.most_borrowed - max(0, row.used - row.local) + own, row.name)
        root = path[-1]
        yield Available((root.subtree - root.used if root.is_quota else 0) + own, root.name)

    def highest_level(self, queue: str, flavor: str, requests: Requests) -> int:
        """Return how far up the tree these would have to borrow: 0, they stay within the queue's own quota.

        What no quota counts borrows nothing.
        """
        asked = (((flavor, resource), need) for resource, need in requests)
        counted = ((column, need) for column, need in asked if self._tree.cell(queue, column) is not None)
        return max((self.borrowing_level(queue, column, need) for column, need in counted), default=0)

    def borrowing_level(self, queue: str, column: Column, amount: int) -> int:
        """Return 0 where the queue's own quota holds the amount too, else the height of the lowest above whose does.

        Mirrors `FindHeightOfLowestSubtreeThatFits`.
        """
        left = amount
        for name, row in zip(self._tree.path(queue), self._path(queue, column), strict=True):
            if not row.is_quota or row.used + left <= row.subtree:
                return self._tree.height(name)
            left -= max(0, row.local - row.used)
        return self._tree.height(self._tree.path(queue)[-1])

    def _path(self, queue: str, column: Column) -> tuple[UsageCounter, ...]:
        """The rows from the queue up to its root."""
        known = self._paths.get((queue, column))
        if known is None:
            known = tuple(self._row(link) for link in self._tree.chain(queue, column))
            self._paths[queue, column] = known
        return known

    def _row(self, link: Link) -> UsageCounter:
        row = self._rows.get(link.key)
        if row is None:
            total = None
            if link.total is not None:
                total = self._row(Link(link.total, None, None))
            row = self._rows[link.key] = UsageCounter(link, self._used_before(link.key), total)
        return row
