"""One timer for each of many pods, by uid: set anew at any time, told when it is due."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappop, heappush

from controller.core.calendar.windows import FOR_EVER


class Timers:
    """Times are epoch seconds. A timer that is set anew leaves its former entry in the heap, where it means nothing."""

    def __init__(self) -> None:
        self.now = 0.0
        self._at: dict[str, float] = {}
        self._heap: list[tuple[float, str]] = []

    def set(self, uid: str, at: float | None) -> None:
        """Let this be when the pod is due next; None: never."""
        if at is None:
            self._at.pop(uid, None)
        elif self._at.get(uid) != at:
            self._at[uid] = at
            heappush(self._heap, (at, uid))

    def advance(self, now: float) -> Iterator[str]:
        """Let it be this time; yield who is due. Whoever takes one may set its timer anew."""
        self.now = now
        return self._due(now)

    def _due(self, now: float) -> Iterator[str]:
        while self.next_change() <= now:
            uid = heappop(self._heap)[1]
            del self._at[uid]
            yield uid

    def next_change(self) -> float:
        """Return when the next is due."""
        while self._heap and self._at.get(self._heap[0][1]) != self._heap[0][0]:
            heappop(self._heap)
        return self._heap[0][0] if self._heap else FOR_EVER
