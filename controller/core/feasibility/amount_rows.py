"""All amounts that may be short, nodes apart, in rows: quotas, limits on all flavors, and the sums of flavors."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from controller.core.ledgers.ledger import Ledger
from controller.core.queueing.queues import Flavor
from controller.core.quota.available_amounts import MOST, Amounts, QuotaRows, amounts_of
from controller.core.quota.quota_tree import QuotaTree, UsageKey
from controller.core.quota.tree_usage import TreeUsage

ANY_QUEUE = "*"
"""In the key of a row, in the place of a queue: of the sums of a flavor, from which all queues take."""


class AmountRows:
    """Changes only with the tree and the flavors.

    `row_of` has, by key, the rows of quotas, (queue, flavor, resource), of limits, (queue, "", resource), and of sums,
    (`ANY_QUEUE`, flavor, resource).
    """

    def __init__(self, tree: QuotaTree, flavors: Mapping[str, Flavor]) -> None:
        self._tree = tree
        self._quotas = QuotaRows(tree)
        self._limits: list[UsageKey] = [
            (name, "", resource)
            for name in tree.names
            for resource in sorted({one for above in tree.path(name) for one in tree.limits(above)})
        ]
        summed = [one for one in flavors.values() if one.is_summed]
        self._sums: list[UsageKey] = [(ANY_QUEUE, one.name, resource) for one in summed for resource in one.sums]
        keys = [*self._quotas.row_of, *self._limits, *self._sums]
        self.row_of: Mapping[UsageKey, int] = {key: row for row, key in enumerate(keys)}

    def used(self, usage: TreeUsage) -> Amounts:
        """Return what is used of the quotas when a decision begins, for `available`."""
        return self._quotas.used(usage)

    def available(self, used: Amounts, ledger: Ledger) -> Amounts:
        """Return by row what is left where this was `used` at the beginning of the decision of a ledger."""
        quotas = self._quotas.available(self._quotas.used_with(used, ledger.usage.sums))
        limits = amounts_of(self._limit_left(ledger, name, resource) for name, _, resource in self._limits)
        sums = amounts_of(ledger.left("sum", flavor, resource) for _, flavor, resource in self._sums)
        return np.concatenate([quotas, limits, sums])

    def _limit_left(self, ledger: Ledger, queue: str, resource: str) -> int:
        left = MOST
        for name in self._tree.path(queue):
            most = self._tree.limits(name).get(resource)
            if most is not None:
                left = min(left, most - ledger.usage.used(name, "", resource))
        return left
