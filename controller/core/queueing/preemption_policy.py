"""What a ClusterQueue says about preemption; names and meanings are Kueue's, but for `minimum_runtime`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Within(StrEnum):
    """Whom of its own queue a workload may preempt that finds no quota or room."""

    NEVER = "Never"
    LOWER_PRIORITY = "LowerPriority"
    LOWER_OR_NEWER_EQUAL_PRIORITY = "LowerOrNewerEqualPriority"


class Reclaim(StrEnum):
    """Whom of the tree's other queues, which borrow, a workload may preempt that stays within its queue's quota."""

    NEVER = "Never"
    LOWER_PRIORITY = "LowerPriority"
    ANY = "Any"


@dataclass(frozen=True, slots=True)
class Preemption:
    """`borrows`: it may preempt others to borrow itself, those of a priority below its own and up to `threshold`.

    `minimum_runtime`: for so many seconds after their start its own pods are spared.
    """

    within: Within = Within.NEVER
    reclaim: Reclaim = Reclaim.NEVER
    borrows: bool = False
    threshold: int | None = None
    minimum_runtime: int = 0

    @property
    def is_any(self) -> bool:
        """Whether the queue's workloads may preempt anybody."""
        return self.within is not Within.NEVER or self.reclaim is not Reclaim.NEVER


NO_PREEMPTION = Preemption()
