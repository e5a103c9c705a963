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
"""So many gaps are remembered beside the one before us, and so many times that the clock went back to before us."""


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

    @property
    def began(self) -> int:
        """From here on that time was gone through, but for its gaps."""
        return self.gaps[0].until


class ClockJumps(Generic[Kept]):
    """The first gap is what was before us: what is kept of that are the statuses that we began with."""

    def __init__(self) -> None:
        self._latest: int | None = None
        self._gaps: list[_Gap[Kept]] = []
        self._left: list[_Left[Kept]] = []
        """Should the clock return to one of these, that was right and what came after it is not. The first came first,
        and each of the others is of an earlier time."""

    def advance(self, now: int, keep: Callable[[], Kept]) -> Kept | None:
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
            self._latest = latest = max(latest, now)
            self._left = [one for one in self._left if latest < one.began]  # the others it came to by itself
        return None

    def _went_back(self, latest: int, now: int, keep: Callable[[], Kept]) -> Kept | None:
        found = next((one for one in reversed(self._gaps) if one.since <= now < one.until), None)
        if found is None:
            return None
        if found is self._gaps[0]:
            self._left = [*self._left, _Left(latest, keep(), self._gaps)][:_MOST]
        self._gaps = [*(one for one in self._gaps if one.until <= now), replace(found, until=now)]
        return found.kept

    def _leapt(self, latest: int, now: int, keep: Callable[[], Kept]) -> Kept | None:
        number = next((number for number, one in enumerate(self._left) if one.began <= now), None)
        if number is None:
            self._take_in(_Gap(latest, now, keep()))
            return None
        left = self._left[number]
        self._gaps, self._left = left.gaps, self._left[:number]
        if now > left.at + _LEAP_SECONDS:
            self._take_in(_Gap(left.at, now, left.kept))
        elif now < left.at - _CORRECTION_SECONDS:
            found = self._went_back(left.at, now, lambda: left.kept)
            return left.kept if found is None else found
        return left.kept

    def _take_in(self, gap: _Gap[Kept]) -> None:
        self._gaps.append(gap)
        del self._gaps[1:-_MOST]
