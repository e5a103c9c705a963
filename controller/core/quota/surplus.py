"""How much one queue may give up before the share of one above it is smaller than a preemptor's would be.

That is asked of each of its pods. So it is answered in amounts: the least that make up a share are worked out once, and
not for each pod the share that it would leave.
"""

from __future__ import annotations

from collections.abc import Mapping

from controller.core.quota.quota_tree import Column
from controller.core.quota.tree_usage import TreeUsage

_ALL = 2**63
"""More than anybody has."""


class Surplus:
    """What `queue` borrows beyond the least that keeps its share, as far as `giver`, at or below it, has that.

    It holds until either uses something else.
    """

    def __init__(self, usage: TreeUsage, queue: str, giver: str, least: Mapping[str, int]) -> None:
        """`least`: by resource how much borrowed makes up the share; of one of them it is enough."""
        self._usage = usage
        self._queue = queue
        self._giver = giver
        borrowed = usage.borrowed_amounts(queue, {})
        found = {resource: borrowed.get(resource, 0) - amount for resource, amount in least.items()}
        self._amounts = {resource: amount for resource, amount in found.items() if amount >= 0}
        self._falls: dict[Column, int] = {}

    def covers(self, held: Mapping[Column, int]) -> bool:
        """Say whether the share is no smaller once this much is gone from the giver: it is so of any one resource."""
        for resource, amount in self._amounts.items():
            of_it = [(column, few) for column, few in held.items() if column[1] == resource]
            if sum(few for _, few in of_it) <= amount:
                return True
            if sum(min(few, self._most(column)) for column, few in of_it) <= amount:
                return True
        return False

    def _most(self, column: Column) -> int:
        """Return by how much the queue borrows less at most, whatever its giver gives up: it does not borrow all."""
        known = self._falls.get(column)
        if known is None:
            falls = -self._usage.rise(self._giver, column, -_ALL, self._queue)
            known = self._falls[column] = min(falls, max(0, self._usage.beyond(self._queue, column)))
        return known
