"""Which queues of a tree may have borrowed: they alone give anybody up to others."""

from __future__ import annotations

from collections.abc import Container, Iterator

from controller.core.ledgers.ledger import Ledger
from controller.core.quota.quota_tree import QuotaTree
from controller.core.quota.tree_usage import TreeUsage


class Borrowers:
    """Those that used more than their own quota when the decision began, and those that were charged since."""

    def __init__(self, tree: QuotaTree, usage: TreeUsage, ledger: Ledger) -> None:
        """`usage` is that of the beginning."""
        self._tree = tree
        self._usage = usage
        self._ledger = ledger
        self._at_first: dict[str, dict[str, set[str]]] = {}

    def of(self, queue: str, flavor: str, *, beside: Container[str] = ()) -> Iterator[str]:
        """Yield the queues of a queue's tree that may borrow something of a flavor now, and those `beside`.

        Some of them may not borrow.
        """
        root = self._tree.path(queue)[-1]
        if root not in self._at_first:
            self._at_first[root] = {name: self._usage.borrowed(name) for name in self._tree.below(root)}
        charged = self._ledger.charged
        return (n for n, known in self._at_first[root].items() if flavor in known or n in charged or n in beside)
