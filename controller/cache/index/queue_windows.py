"""How many classes of one LocalQueue are tested in each decision: the first in order, so that nobody can make it long.

Somebody may have made thousands of different pods. Of those behind the window one after the other is looked at as the
round comes to it (`cache.queue.asked`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from heapq import nsmallest
from typing import Final

from controller.core.workloads.workload import OrderKey, QueueKey, Workload, WorkloadClass

WINDOW: Final = 2_000
_Kinds = dict[WorkloadClass, None]


@dataclass(slots=True)
class _Window:
    """`last` is the place of the last one inside, as of when the window was filled; None: nobody is outside."""

    inside: _Kinds = field(default_factory=dict)
    outside: _Kinds = field(default_factory=dict)
    last: OrderKey | None = None


class QueueWindows:
    """Those of all LocalQueues, each filled anew when it is half empty or holds half more than its `size`."""

    def __init__(self, runs: Mapping[WorkloadClass, Sequence[Workload]], *, size: int) -> None:
        """`runs` are the cache's own, and only read."""
        self._runs = runs
        self._size = size
        self._of: dict[QueueKey, _Window] = {}
        self._uneven: dict[QueueKey, None] = {}
        self._unsorted: dict[QueueKey, None] = {}
        self.lines: dict[QueueKey, Sequence[WorkloadClass]] = {}
        """By LocalQueue the classes inside in the order of their heads, as of when the windows were filled."""

    def head_moved(self, kind: WorkloadClass) -> None:
        """Take in that another workload of a class may be its head now, or its head have another place."""
        self._unsorted[kind.queue] = None

    def add(self, kind: WorkloadClass) -> bool:
        """Take in a class that came; say whether it is inside."""
        window = self._of.setdefault(kind.queue, _Window())
        self._unsorted[kind.queue] = None
        is_inside = len(window.inside) < self._size and not window.outside
        if not is_inside and window.last is not None:
            is_inside = self._runs[kind][0].order < window.last
        (window.inside if is_inside else window.outside)[kind] = None
        if not is_inside and window.last is None:
            window.last = max(self._runs[one][0].order for one in window.inside)
        if len(window.inside) > self._size + self._size // 2:
            self._uneven[kind.queue] = None
        return is_inside

    def remove(self, kind: WorkloadClass) -> bool:
        """Take in that a class is gone; say whether it was inside."""
        window = self._of[kind.queue]
        self._unsorted[kind.queue] = None
        was_inside = kind in window.inside
        del (window.inside if was_inside else window.outside)[kind]
        if not window.inside and not window.outside:
            del self._of[kind.queue]
            self._uneven.pop(kind.queue, None)
        elif not window.outside:
            window.last = None
        elif len(window.inside) <= self._size // 2:
            self._uneven[kind.queue] = None
        return was_inside

    def fill(self) -> tuple[list[WorkloadClass], list[WorkloadClass]]:
        """Fill the windows for which it is time, and sort; return the classes that come in, and those that go out."""
        entering, leaving = list[WorkloadClass](), list[WorkloadClass]()
        for queue in self._uneven:
            window = self._of[queue]
            known = [*window.inside, *window.outside]
            first = nsmallest(self._size, known, key=self._place)
            inside = dict.fromkeys(first)
            entering += [kind for kind in first if kind not in window.inside]
            leaving += [kind for kind in window.inside if kind not in inside]
            window.outside = {kind: None for kind in known if kind not in inside}
            window.inside = inside
            window.last = self._runs[first[-1]][0].order if window.outside else None
        self._uneven.clear()
        for queue in self._unsorted:
            inside = self._of[queue].inside if queue in self._of else {}
            self.lines[queue] = sorted(inside, key=self._place)
            if not inside:
                del self.lines[queue]
        self._unsorted.clear()
        return entering, leaving

    def _place(self, kind: WorkloadClass) -> OrderKey:
        return self._runs[kind][0].order
