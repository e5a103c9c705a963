"""How a decision looks for nodes for one make of pod, time and again, without comparing all nodes each time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from controller.core.capacity.node_index import NodeNumbers
from controller.core.kubernetes.amounts import Requests

Row = NDArray[np.int64]
"""What the usable nodes of a flavor have free of a resource, each at its place."""

FULLEST: Final = 64
"""So many nodes a search keeps at hand: some dozen times a search comes before that many are full."""


class Fullest:
    """The fullest of the nodes that a search may find.

    Exact as long as room only shrinks: a node that is not among these and that nothing was taken from since has as
    much left as it had then, more than `bound`; those that something was taken from are taken in.
    """

    def __init__(self, at: NodeNumbers, amounts: Row, size: int, seen: int) -> None:
        """Of the nodes `at` these places, with so much left each, `FULLEST` or more, keep the fullest at hand.

        `size`: how many usable nodes the flavor has; `seen`: how often something was taken from one of them so far.
        """
        most = int(np.partition(amounts, FULLEST - 1)[FULLEST - 1])
        less, equal = at[amounts < most], at[amounts == most]
        equal = equal[: FULLEST - len(less)]
        self.bound = most, int(equal[-1])
        """What the last of them had left, and its place: of equal ones the first in order is taken."""
        self.seen = seen
        self._may = _marked(at, size)
        self._among = _marked(np.concatenate((less, equal)), size)

    def take_in(self, places: list[int]) -> NodeNumbers:
        """Take in the places that something was taken from since; return all that are at hand, in order."""
        if places:
            taken = np.array(places)
            self._among[taken] = self._may[taken]
            self.seen += len(places)
        return self._among.nonzero()[0]

    def keep(self, at: NodeNumbers) -> None:
        """Keep these alone of those at hand: the others are too full."""
        self._among.fill(False)
        self._among[at] = True


@dataclass(slots=True)
class Search:
    """For one make of pod on one flavor: what it asks for, and at which places it may still run.

    `spreads`: each pod gets the node with most left, not the fullest. `is_kept`: it comes again and again through a
    decision: since room only shrinks then, a node that once was too full is not looked at again.
    """

    flavor: str
    requests: Requests
    at: NodeNumbers
    spreads: bool = False
    is_kept: bool = False
    fullest: Fullest | None = field(default=None, init=False)


def _marked(at: NodeNumbers, size: int) -> NDArray[np.bool_]:
    """Return for each of so many places whether it is one of these."""
    marks = np.zeros(size, dtype=np.bool_)
    marks[at] = True
    return marks
