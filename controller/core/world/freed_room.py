"""Which shapes are still to be compared with the nodes that have more room now: a part of them in each decision.

There are few shapes in most clusters. Where somebody made thousands, others are not to wait until all are compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import Final

from controller.core.workloads.shapes import Shape

MOST_COMPARED: Final = 128
"""So many shapes that were short of room in a flavor are compared in one decision."""


class FreedRoom:
    """The shapes to compare, by `what`: a flavor, and what they are compared for; those first that were found short
    first. Mutable, as `Settled`.
    """

    def __init__(self) -> None:
        self._left: dict[object, tuple[AbstractSet[str], Sequence[Shape]]] = {}
        """With the nodes that they are compared with."""

    def next(self, what: object, nodes: AbstractSet[str], shapes: Iterable[Shape]) -> Sequence[Shape]:
        """Return those to compare in this decision with the nodes of a flavor that have more room.

        `shapes`: all that are short of it, from which it begins anew where nodes are among these that were not.
        """
        known = self._left.get(what)
        if known is None or not nodes <= known[0]:
            known = self._left[what] = nodes, list(shapes)
        return known[1][:MOST_COMPARED]

    def rest(self) -> bool:
        """Take in that those returned last were compared; say whether more are left."""
        left = {what: (nodes, shapes[MOST_COMPARED:]) for what, (nodes, shapes) in self._left.items()}
        is_left = any(shapes for _, shapes in left.values())
        self._left = left if is_left else {}
        return is_left
