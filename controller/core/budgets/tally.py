"""What a budget has used: amounts integrated over time, exactly, and when at the present rate it is used up.

Whoever runs is not counted second by second: a run adds its rate when it begins, and when it ends it is replaced by
what it took. So an end that is reported late is counted as it was. All numbers are integers: seconds since 1970 UTC,
and amounts in the unit of the rates times seconds. What a rate is: `budgets.budget`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from controller.core.budgets.periods import Period, slices


@dataclass(frozen=True, slots=True)
class Memory:
    """Sums by the start of their slice, complete up to `until`: what outlives whoever counted."""

    until: int
    sums: Mapping[int, int] = field(default_factory=dict)


class Tally:
    """The sums of one budget, from what is remembered on. Time only goes forward; earlier times count as the latest."""

    def __init__(self, period: Period, now: int, memory: Memory | None = None) -> None:
        """Without a memory it counts from the start of the period on.

        One that is complete up to a time to come was written by a clock that was ahead. Where that had left this slice
        behind, what counts now is forgotten in it, and it is none.
        """
        self._period = period
        self.start, self.end = period.slice_of(now)
        oldest = period.oldest(now)
        if memory is not None and period.oldest(memory.until) > self.start:
            memory = None
        self._from = oldest if memory is None else max(oldest, min(memory.until, now))
        """What ran before is in the sums already."""
        self._surplus = 0 if memory is None else max(0, min(memory.until, self.end) - now)
        """For so many seconds to come what ran when the memory was written is in them, too."""
        known = {} if memory is None else memory.sums
        self._sums = {since: known.get(since, 0) for since, _ in slices(period, oldest, self.end)}
        self._rate = 0
        self._head_start = 0
        """Of those that run: rate times the instant from which they count in this slice, summed."""

    @property
    def rate(self) -> int:
        """What is used in a second at present."""
        return self._rate

    def advance(self, now: int) -> None:
        """Close the slices that have ended."""
        if now < self.end:
            return
        oldest = self._period.oldest(now)
        for start, end in [*slices(self._period, max(self.start, oldest), now + 1)]:
            if start > self.start:
                self._turn(start, end)
        self._sums = {since: amount for since, amount in self._sums.items() if since >= oldest}

    def _turn(self, start: int, end: int) -> None:
        self._sums[self.start] += self._rate * start - self._head_start
        self._sums[start] = 0
        self._head_start = self._rate * start
        self.start, self.end = start, end

    def open(self, rate: int, since: int) -> None:
        """Somebody runs, since an instant that has passed."""
        self._add(rate, since, self.start)
        self._rate += rate
        self._head_start += rate * max(since, self.start, self._from)

    def take_back(self) -> None:
        """Take back what the memory counted of times to come. All that runs now is known by now, and nothing else."""
        self._sums[self.start] = max(0, self._sums[self.start] - self._rate * self._surplus)
        self._surplus = 0

    def close(self, rate: int, since: int, until: int) -> None:
        """Who ran `since` ended at an instant that has passed, perhaps in an earlier slice."""
        self._rate -= rate
        self._head_start -= rate * max(since, self.start, self._from)
        self._add(-rate, max(since, until), self.start)
        self._add(rate, max(since, self.start), until)

    def add(self, rate: int, since: int, until: int) -> None:
        """Who was never seen running ran from one instant to the other."""
        self._add(rate, since, until)

    def _add(self, rate: int, since: int, until: int) -> None:
        for start, end in slices(self._period, max(since, self._from, min(self._sums)), until):
            self._sums[start] += rate * (min(until, end) - max(since, self._from, start))

    def used(self, now: int) -> int:
        """Return what was used in the period up to now."""
        return sum(self._sums.values()) + self._rate * max(now, self.start) - self._head_start

    def memory(self, now: int) -> Memory:
        """Return what is to be remembered; slices of which nothing is used are left out."""
        at = max(now, self.start)
        running = self._rate * at - self._head_start
        sums = {since: sum_ + (running if since == self.start else 0) for since, sum_ in self._sums.items()}
        return Memory(at, {since: amount for since, amount in sums.items() if amount > 0})

    def since(self, now: int) -> int:
        """Return when the period began."""
        return self._period.oldest(max(now, self.start))

    def next_change(self, now: int, amount: int) -> int:
        """Return when the present slice ends, or before that `amount` is used up."""
        left = amount - self.used(now)
        return self.end if left <= 0 or not self._rate else min(self.end, now - (-left // self._rate))

    def runs_out_at(self, now: int, amount: int) -> int | None:
        """Return when `amount` is used up if all that runs goes on; None: never, or not in this period."""
        for at, end, used in self._ahead(now, self._period.lookahead):
            if used >= amount:
                return at
            passed = -((used - amount) // self._rate) if self._rate else end
            if at + passed < end:
                return at + passed
        return None

    def opens_at(self, now: int, amount: int) -> int | None:
        """Return when less than `amount` will be used if all that runs goes on; None: that cannot be foreseen."""
        return next((at for at, _, used in self._ahead(now, self._period.lookahead + 1) if used < amount), None)

    def _ahead(self, now: int, count: int) -> Iterator[tuple[int, int, int]]:
        """Yield the next slices, this one first: from when, until when, and what is used by then."""
        at, end, sums = max(now, self.start), self.end, dict(self._sums)
        sums[self.start] += self._rate * at - self._head_start
        for _ in range(count):
            oldest = self._period.oldest(at)
            yield at, end, sum(amount for since, amount in sums.items() if since >= oldest)
            start = max(sums)
            sums[start] += self._rate * (end - at)
            at, end = self._period.slice_of(end)
            sums[at] = 0
