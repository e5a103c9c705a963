"""Time that no clock was seen to go through: what was counted before it, for when a clock that leapt is put right.

The wall clock is asked every few seconds. Where it is further on by more than a minute somebody put it forward, or
nobody asked; that shows only when it goes back. One that goes back into such a gap is believed, and what was counted
since is not. Where it goes back into time that was gone through, by some seconds or for good, nothing follows: sums of
times to come are right when they have come.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf
from typing import Final, Generic, TypeVar

Kept = TypeVar("Kept")

_LEAP_SECONDS: Final = 60
_CORRECTION_SECONDS: Final = 5
"""So much a clock goes back in the ordinary course of things."""
_MOST: Final = 4


@dataclass(frozen=True, slots=True)
class _Gap(Generic[Kept]):
    """After `since` comes `until`, and between them nothing was seen; `kept` is what was counted up to `since`."""

    since: float
    until: int
    kept: Kept


@dataclass(frozen=True, slots=True)
class _Left(Generic[Kept]):
    """What was counted, and the gaps there were, up to the time from which the clock went back to before us."""

    at: int
    kept: Kept
    gaps: list[_Gap[Kept]]


class Leaps(Generic[Kept]):
    """The first gap is what was before us: what is kept of that are the statuses that we began with."""

    def __init__(self) -> None:
        self._latest: int | None = None
        self._gaps: list[_Gap[Kept]] = []
        self._left: _Left[Kept] | None = None
        """Should the clock return there, that was right and what came after it is not."""

    def pass_to(self, now: int, keep: Callable[[], Kept]) -> Kept | None:
        """Let it be this time; return what to count on from where the clock was put right, None where all is well.

        `keep` tells what is counted so far. Epoch seconds.
        """
        latest, self._latest = self._latest, now
        if latest is None:
            self._gaps.append(_Gap(-inf, now, keep()))
        elif now < latest - _CORRECTION_SECONDS:
            return self._went_back(latest, now, keep)
        elif now > latest + _LEAP_SECONDS:
            return self._leapt(latest, now, keep)
        else:
            self._latest = max(latest, now)
        return None

    def _went_back(self, latest: int, now: int, keep: Callable[[], Kept]) -> Kept | None:
        found = next((one for one in reversed(self._gaps) if one.since <= now < one.until), None)
        if found is None:
            return None
        if found is self._gaps[0] and (self._left is None or latest >= self._left.at):
            self._left = _Left(latest, keep(), self._gaps)
        self._gaps = [*(one for one in self._gaps if one.until <= now), replace(found, until=now)]
        return found.kept

    def _leapt(self, latest: int, now: int, keep: Callable[[], Kept]) -> Kept | None:
        left = self._left
        if left is not None and latest < left.at <= now:
            self._gaps, self._left = left.gaps, None
            return left.kept
        self._gaps.append(_Gap(latest, now, keep()))
        del self._gaps[1:-_MOST]
        return None
