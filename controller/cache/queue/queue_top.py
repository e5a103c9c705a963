"""Workloads that somebody put on top of their local queue, and behind whom the others of that queue stand then.

Who is on top keeps the place that it has among all: it goes before its own queue's others of the same priority by
their standing behind it, not by its passing anybody else's. So who may write in a namespace can move nothing but
that namespace's own pods. Of several on top the last in order is the front.
"""

from __future__ import annotations

from controller.core.workloads.workload import OrderKey, QueueKey, behind

Line = tuple[QueueKey, int]
"""(local queue, priority)."""


class QueueTops:
    """`moved`, which is not only ours, is told the local queues whose others have to take their places anew."""

    def __init__(self, moved: set[QueueKey]) -> None:
        self._moved = moved
        self._lines: dict[str, Line] = {}
        self._on_top: dict[Line, dict[str, OrderKey]] = {}
        self._tops: dict[Line, OrderKey] = {}

    def put(self, uid: str, line: Line, own: OrderKey) -> OrderKey:
        """Put a waiting workload on top; return its place, which is its own."""
        if self._lines.get(uid) == line and self._on_top[line][uid] == own:
            return own
        self.drop(uid)
        self._lines[uid] = line
        self._on_top.setdefault(line, {})[uid] = own
        self._set_front(line, max(own, self._tops.get(line, own)))
        return own

    def drop(self, uid: str) -> None:
        """A workload is on top no longer, or waits no longer; the call is cheap for one that never was."""
        line = self._lines.pop(uid, None)
        if line is None:
            return
        left = self._on_top[line]
        gone = left.pop(uid)
        if not left:
            del self._on_top[line]
            self._set_front(line, None)
        elif gone == self._tops[line]:
            self._set_front(line, max(left.values()))

    def place(self, line: Line, own: OrderKey) -> OrderKey:
        """Return the place of a workload that is not on top."""
        front = self._tops.get(line)
        return own if front is None or own > front else behind(front, own)

    def _set_front(self, line: Line, front: OrderKey | None) -> None:
        if self._tops.get(line) == front:
            return
        self._moved.add(line[0])
        if front is None:
            del self._tops[line]
        else:
            self._tops[line] = front
