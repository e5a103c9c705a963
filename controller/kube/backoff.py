"""How long to wait before something that failed is tried again."""

from __future__ import annotations

from dataclasses import dataclass

_MOST_DOUBLINGS = 64
"""After so many any delay is at its longest, and a float does not overflow."""


@dataclass(frozen=True, slots=True)
class Backoff:
    """Delays in seconds that double with each failure in a row: `first` after the first, `longest` at most.

    Jitter is up to whoever waits.
    """

    first: float
    longest: float

    def delay(self, failures: int) -> float:
        """Return how many seconds to wait after so many failures in a row, at least one."""
        return min(self.first * 2.0 ** min(failures - 1, _MOST_DOUBLINGS), self.longest)
