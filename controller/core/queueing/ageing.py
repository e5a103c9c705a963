"""Priority that grows while a workload waits: in steps, up to a bound, and only for the order."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Ageing:
    """`by` more for every `every` seconds waited, `most` in all."""

    every: int
    by: int
    most: int

    def grown(self, waited: float) -> int:
        """Return how much is added to the priority after so many seconds; a clock that is behind adds nothing."""
        return min(self.most, self.by * max(0, int(waited // self.every)))

    def next_step(self, since: float, now: float) -> float | None:
        """Return when that becomes more, for who waits since then; None: never. Times in epoch seconds."""
        steps = max(0, int((now - since) // self.every))
        return None if self.by * steps >= self.most else since + (steps + 1) * self.every
