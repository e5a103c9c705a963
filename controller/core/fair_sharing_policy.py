"""What a ClusterQueue says about fair sharing; names and meanings are Kueue's."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class FairSharing:
    """`weight`: of two queues that borrow, one of weight 2 may borrow twice as much before the other goes first."""

    weight: Fraction = Fraction(1)


USUAL = FairSharing()
