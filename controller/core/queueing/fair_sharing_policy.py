"""What a ClusterQueue says about fair sharing; names and meanings are Kueue's."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Final, NamedTuple

from controller.core.queueing.past_usage import PastUsageRule

_BITS: Final = 256
ONE_THOUSANDTH: Final = 1 << _BITS
"""So many of what shares are counted in: no two are alike that differ, while amounts and both numbers of a weight are
below 2**63."""


class Share(NamedTuple):
    """A share in thousandths, of infinite ones what it would be by a weight of 1. Nearly, so that most comparisons are
    quick, and exactly: how many of them `ONE_THOUSANDTH` has, rounded down. Fractions would take ten times as long.
    """

    is_infinite: bool
    nearly: float
    exact: int


def share_of(part: int, whole: int, *, is_infinite: bool = False) -> Share:
    """Return the share that is so many thousandths, as a quotient; none of the two is below zero, `whole` is above."""
    return Share(is_infinite, part / whole, (part << _BITS) // whole)


class Strategy(StrEnum):
    """When a queue that borrows may take from another that does."""

    LESS_THAN_OR_EQUAL_TO_FINAL_SHARE = "LessThanOrEqualToFinalShare"
    """Its share will be no larger than the other's is then."""
    LESS_THAN_INITIAL_SHARE = "LessThanInitialShare"
    """Its share will be smaller than the other's is now."""


@dataclass(frozen=True, slots=True)
class FairSharing:
    """`weight`: of two queues that borrow, one of weight 2 may borrow twice as much before the other goes first.

    `strategies` are those of the whole tree, which its root says: the first for all, then the second for who is left.
    So is `past_usage`: how usage orders the LocalQueues of each queue.
    """

    weight: Fraction = Fraction(1)
    strategies: tuple[Strategy, ...] = tuple(Strategy)
    past_usage: PastUsageRule | None = None


USUAL = FairSharing()
