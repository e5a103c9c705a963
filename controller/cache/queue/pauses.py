"""The pause after a whole portion of those that decisions look at: other decisions, which admit, take no longer."""

from __future__ import annotations

from math import inf
from typing import Final

PAUSE_SECONDS: Final = 0.1


class Pause:
    """One that begins again and again. Times are epoch seconds."""

    def __init__(self) -> None:
        self._until = -inf

    def is_on(self, now: float) -> bool:
        """Whether it lasts; not where the clock was set back since it began."""
        return now < self._until <= now + PAUSE_SECONDS

    def begin(self, now: float) -> None:
        """Let it begin."""
        self._until = now + PAUSE_SECONDS

    def end(self) -> None:
        """Let it be over."""
        self._until = -inf

    def over_at(self, now: float) -> float:
        """Return when it is over, or this time where it is by now."""
        return max(now, self._until)
