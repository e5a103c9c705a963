"""When those that wait are expected to start, and how near earlier forecasts came to what happened."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from math import ceil, inf, isfinite
from statistics import median
from typing import Final

from controller.kube.clock import rfc3339
from controller.simulator.eta import Eta, Unknown
from controller.visibility.start_rows import AccuracyRow, StartRow

_KEPT: Final = 500
"""Starts of a ClusterQueue by which its forecasts are judged: the latest."""


def start_row(found: Eta | Unknown, at: float, *, names_others: bool) -> StartRow:
    """Return a forecast that was made at a time, epoch seconds, as a row; with or without other pods by name."""
    made = rfc3339(at)
    if isinstance(found, Unknown):
        return StartRow(made, unknown=found.text if names_others else found.why)
    return StartRow(made, *(rfc3339(ceil(one)) for one in (found.p20, found.p50, found.p90)))


class Hit(StrEnum):
    """Where a start lay in the range that the first forecast of it had given."""

    BEFORE = "before"
    WITHIN = "within"
    AFTER = "after"
    UNKNOWN = "unknown"
    """There was no range, since nobody knew."""


@dataclass(frozen=True, slots=True)
class Start:
    """A start that was forecast: where it lay, and how many seconds it came after the median (negative: before).

    `ahead` is how many seconds before the start that forecast was made. Of one that nobody knew `late` is 0.
    """

    hit: Hit
    late: float
    ahead: float

    @property
    def has_error(self) -> bool:
        """Whether there was a median: not where nobody knew, or half of the simulations ended before the start."""
        return self.hit is not Hit.UNKNOWN and isfinite(self.late)


@dataclass(frozen=True, slots=True)
class _First:
    """The first forecast of a pod, and when it was made."""

    found: Eta | Unknown
    at: float


@dataclass(slots=True)
class StartForecasts:
    """The latest forecast of each pod by uid, the first of each that waits, and the latest starts by ClusterQueue.

    Times are in epoch seconds. All of it is kept in memory: a replica that begins knows none of it.
    """

    at: float = 0.0
    latest: Mapping[str, Eta | Unknown] = field(default_factory=dict)
    _first: dict[str, _First] = field(default_factory=dict)
    _starts: dict[str, deque[Start]] = field(default_factory=dict)

    def take(self, found: Mapping[str, Eta | Unknown], at: float) -> None:
        """Take in the forecasts that were made at a time, of all that wait."""
        self.latest, self.at = found, at
        self._first = {uid: self._first.get(uid) or _First(one, at) for uid, one in found.items()}

    def planned(self) -> dict[str, int]:
        """Return when those that wait are expected to start: the median of the first forecast of each."""
        firsts = ((uid, one.found) for uid, one in self._first.items())
        return {uid: ceil(found.p50) for uid, found in firsts if isinstance(found, Eta) and found.p50 < inf}

    def row(self, uid: str) -> StartRow | None:
        """Return the latest forecast of a pod, without names of others; None: there was none since it came."""
        found = self.latest.get(uid)
        return None if found is None else start_row(found, self.at, names_others=False)

    def started(self, uid: str, cluster_queue: str, at: float) -> Start | None:
        """Take in that a pod has started; return how that compares. None: its start was not forecast."""
        first = self._first.pop(uid, None)
        if first is None:
            return None
        start = _compared(first, at)
        self._starts.setdefault(cluster_queue, deque(maxlen=_KEPT)).append(start)
        return start

    def overdue(self, now: float) -> Iterator[tuple[str, Eta, float]]:
        """Yield pods that have not started by the p90 of their first forecast: uid, that forecast, when it was made."""
        for uid, first in self._first.items():
            if isinstance(first.found, Eta) and first.found.p90 < now:
                yield uid, first.found, first.at

    def keep(self, cluster_queues: Mapping[str, object]) -> None:
        """Forget the starts of other ClusterQueues than these: they are gone."""
        self._starts = {name: one for name, one in self._starts.items() if name in cluster_queues}

    def accuracy(self) -> dict[str, AccuracyRow]:
        """Return how near the forecasts came, by ClusterQueue."""
        return {name: _accuracy(starts) for name, starts in sorted(self._starts.items())}


def _compared(first: _First, at: float) -> Start:
    found, ahead = first.found, at - first.at
    if isinstance(found, Unknown):
        return Start(Hit.UNKNOWN, 0.0, ahead)
    hit = Hit.BEFORE if at < found.p20 else Hit.WITHIN if at <= found.p90 else Hit.AFTER
    return Start(hit, at - found.p50, ahead)


def _accuracy(starts: deque[Start]) -> AccuracyRow:
    known = [one for one in starts if one.hit is not Hit.UNKNOWN]
    unknown = len(starts) - len(known)
    if not known:
        return AccuracyRow(len(starts), unknown, None, None, None)
    within = sum(one.hit is Hit.WITHIN for one in known) / len(known)
    errors = [abs(one.late) for one in known]
    parts = [error / max(1.0, one.ahead) for error, one in zip(errors, known, strict=True)]
    return AccuracyRow(len(starts), unknown, round(within, 3), round(median(errors), 1), round(median(parts), 3))
