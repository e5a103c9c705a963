"""What is used of each flavor and what there is of it, over the time of a simulation, in parts of equal length."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

Series = dict[tuple[str, str], list[float]]
"""Amounts times seconds of each part, by flavor and resource."""

PARTS: Final = 240
"""More than a plot can show apart."""


@dataclass(slots=True)
class Timeline:
    """`seconds` from `begins`, epoch seconds, in `PARTS` parts; sums of all simulations that were taken in."""

    begins: float
    seconds: float
    used: Series = field(default_factory=dict)
    capacity: Series = field(default_factory=dict)

    def add_between(
        self, since: float, until: float, used: Mapping[tuple[str, str], int], capacity: Mapping[tuple[str, str], int]
    ) -> None:
        """Add what was used and what there was all the time between two times, epoch seconds."""
        length = self.seconds / PARTS
        first, last = (min(PARTS - 1, int((at - self.begins) / length)) for at in (since, until))
        for part in range(first, last + 1):
            begins = self.begins + part * length
            seconds = min(until, begins + length) - max(since, begins)
            if seconds <= 0:
                continue
            for series, amounts in ((self.used, used), (self.capacity, capacity)):
                for column, amount in amounts.items():
                    if amount:
                        series.setdefault(column, [0.0] * PARTS)[part] += amount * seconds

    def means(self, series: Series, column: tuple[str, str], runs: int) -> list[float]:
        """Return the mean amount of each part over so many simulations, for one of the two series."""
        seconds = self.seconds / PARTS * max(1, runs)
        return [amount / seconds for amount in series.get(column, [0.0] * PARTS)]

    def add(self, other: Timeline) -> None:
        """Take another simulation of the same time in."""
        for mine, theirs in ((self.used, other.used), (self.capacity, other.capacity)):
            for column, amounts in theirs.items():
                mine[column] = [a + b for a, b in zip(mine.get(column, [0.0] * PARTS), amounts, strict=True)]
