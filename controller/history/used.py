"""What a pod used of what it asked for, as far as samples say: their number, their sum, and the largest.

Each process keeps its own samples of a pod, under its own name, and writes all of them again: so what is written twice
counts once, and those of several leaders add up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from controller.core.kubernetes.amounts import CPU, MEMORY

SAMPLED: Final = (CPU, MEMORY)
"""What metrics-server measures."""


@dataclass(slots=True)
class Used:
    """Samples of one pod: how many, and by resource, in its unit, their sum and the largest."""

    samples: int = 0
    sums: dict[str, int] = field(default_factory=dict)
    peaks: dict[str, int] = field(default_factory=dict)

    def add(self, amounts: Mapping[str, int]) -> None:
        """Take in a sample."""
        self.samples += 1
        for name, amount in amounts.items():
            self.sums[name] = self.sums.get(name, 0) + amount
            self.peaks[name] = max(self.peaks.get(name, 0), amount)

    def mean(self, resource: str) -> int:
        """Return the mean of a resource, rounded up; there is a sample."""
        return -(-self.sums.get(resource, 0) // self.samples)
