"""The classes that decisions have still to look at: a few of each LocalQueue at a time, the first in order first.

Somebody may have made thousands of different pods. Were they all looked at in one decision, everybody else would wait
for it. Mutable: kept by the cache, read by `decide`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush
from itertools import chain, count
from typing import Final

from controller.core.workloads.workload import OrderKey, QueueKey, Workload, WorkloadClass

MOST_OF_A_QUEUE: Final = 128
"""So many fresh classes of one LocalQueue are looked at in a decision, and so many of those to look at each time."""
_SPARE: Final = 64
_Kinds = dict[WorkloadClass, None]


class Pending:
    """Three sorts: `fresh` ones that were not looked at since they were opened, those to look at `again` each time, and
    those `standing` that every decision has to look at.
    """

    def __init__(self, kinds: Iterable[WorkloadClass] = (), *, most: int = MOST_OF_A_QUEUE) -> None:
        self._most = most
        self._opened: _Kinds = dict.fromkeys(kinds)
        """Fresh ones of which the place is asked for only when somebody looks."""
        self._fresh = _Lines()
        self._again = _Lines()
        self._standing: _Kinds = {}
        self._taken: list[WorkloadClass] = []
        self._left_again = False
        """Whether some to look at again were not taken last."""

    def __contains__(self, kind: object) -> bool:
        return kind in self._fresh or kind in self._opened or kind in self._again or kind in self._standing

    def __iter__(self) -> Iterator[WorkloadClass]:
        return chain(self._standing, self._again, self._fresh, self._opened)

    def __len__(self) -> int:
        return len(self._opened) + len(self._fresh) + len(self._again) + len(self._standing)

    @property
    def has_fresh(self) -> bool:
        """Whether any are left that were not looked at since they were opened."""
        return bool(self._opened) or len(self._fresh) > 0

    def open(self, kind: WorkloadClass) -> None:
        """Let a class be looked at as if nothing were known of it."""
        if kind not in self._standing:
            self._again.drop(kind)
            self._opened[kind] = None

    def look_again(self, kind: WorkloadClass, order: OrderKey) -> None:
        """Let a class that was looked at be looked at each time; `order` is the place of its head."""
        self.drop(kind)
        self._again.put(kind, order)

    def stand(self, kind: WorkloadClass) -> None:
        """Let every decision look at a class: of what it holds nothing may be taken."""
        self.drop(kind)
        self._standing[kind] = None

    def drop(self, kind: WorkloadClass) -> None:
        """Forget a class."""
        self._opened.pop(kind, None)
        self._standing.pop(kind, None)
        self._fresh.drop(kind)
        self._again.drop(kind)

    def line_up(self, runs: Mapping[WorkloadClass, Sequence[Workload]], most: int) -> bool:
        """Put so many that were opened in their places; say whether there are more."""
        for kind in self._first_opened(most):
            del self._opened[kind]
            self._fresh.put(kind, runs[kind][0].order)
        return bool(self._opened)

    def _first_opened(self, most: int) -> list[WorkloadClass]:
        opened = iter(self._opened)
        return [kind for _, kind in zip(range(most), opened, strict=False)]

    def take(self, runs: Mapping[WorkloadClass, Sequence[Workload]]) -> _Kinds:
        """Return the classes that a decision is to look at; they stay until they are dropped."""
        self.line_up(runs, len(self._opened))
        self._taken = self._fresh.first(runs, self._most)
        again = self._again.first(runs, self._most)
        self._left_again = len(self._again) > len(again)
        return dict.fromkeys(chain(self._standing, again, self._taken))

    def rest(self, runs: Mapping[WorkloadClass, Sequence[Workload]], *, any_admitted: bool) -> bool:
        """Take in that those taken last were looked at; say whether more are to be looked at in the next decision.

        A fresh one of which nothing was said is no fresh one any more. Who is admitted may leave a place among those to
        look at to the next one.
        """
        for kind in self._taken:
            if kind in self._fresh:
                self._fresh.drop(kind)
                self._again.put(kind, runs[kind][0].order)
        self._taken = []
        return self.has_fresh or (any_admitted and self._left_again)


class _Lines:
    """By LocalQueue a heap of its classes by the places of their heads. An entry that is not the latest of its class
    means nothing.
    """

    def __init__(self) -> None:
        self._latest: dict[WorkloadClass, int] = {}
        self._lines: dict[QueueKey, list[tuple[OrderKey, int, WorkloadClass]]] = {}
        self._sizes: dict[QueueKey, int] = {}
        self._numbers = count()

    def __contains__(self, kind: object) -> bool:
        return kind in self._latest

    def __iter__(self) -> Iterator[WorkloadClass]:
        return iter(self._latest)

    def __len__(self) -> int:
        return len(self._latest)

    def put(self, kind: WorkloadClass, order: OrderKey) -> None:
        line = self._lines.setdefault(kind.queue, [])
        if kind not in self._latest:
            self._sizes[kind.queue] = self._sizes.get(kind.queue, 0) + 1
        self._latest[kind] = number = next(self._numbers)
        if len(line) > 2 * self._sizes[kind.queue] + _SPARE:
            line[:] = [one for one in line if self._latest.get(one[2]) == one[1]]
            heapify(line)
        heappush(line, (order, number, kind))

    def drop(self, kind: WorkloadClass) -> None:
        if self._latest.pop(kind, None) is None:
            return
        self._sizes[kind.queue] -= 1
        if not self._sizes[kind.queue]:
            del self._sizes[kind.queue], self._lines[kind.queue]

    def first(self, runs: Mapping[WorkloadClass, Sequence[Workload]], most: int) -> list[WorkloadClass]:
        """Return of each line so many that come first, in order."""
        found: list[WorkloadClass] = []
        for line in self._lines.values():
            taken: list[tuple[OrderKey, int, WorkloadClass]] = []
            while line and len(taken) < most:
                one = heappop(line)
                order, number, kind = one
                if self._latest.get(kind) != number:
                    continue
                now = runs[kind][0].order
                if now == order:
                    taken.append(one)
                else:  # its head is another one since
                    heappush(line, (now, number, kind))
            for one in taken:
                heappush(line, one)
            found += [kind for _, _, kind in taken]
        return found
