"""Which queues of a tree may have borrowed: they alone give anybody up to others."""

from __future__ import annotations

from collections.abc import Container, Iterator

from controller.core.ledger import Ledger
from controller.core.quota_tree import QuotaTree
from controller.core.tree_usage import TreeUsage


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
            self._at_first[root] = self._look(root)
        known, charged = self._at_first[root].get(flavor, ()), self._ledger.charged
        return (name for name in self._tree.below(root) if name in known or name in charged or name in beside)

    def has(self, queue: str, flavor: str) -> bool:
        """Say whether a queue may borrow something of a flavor now; if it does, it is so."""
        return queue in self._ledger.charged or self._borrowed(queue, flavor)

    def _look(self, root: str) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for name in self._tree.below(root):
            for column, cell in self._tree.cells(name).items():
                if self._usage.used(name, *column) > cell.subtree:
                    found.setdefault(column[0], set()).add(name)
        return found

    def _borrowed(self, queue: str, flavor: str) -> bool:
        cells = self._tree.cells(queue).items()
        return any(column[0] == flavor and self._usage.used(queue, *column) > cell.subtree for column, cell in cells)
