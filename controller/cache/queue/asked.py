"""Of which classes the next decision tells why they wait, though they cannot fit: a few at a time.

Those of which nothing was said come first. After anything changed there is a round over all of them: no reason is older
than that takes, and whoever is behind the window of its LocalQueue is reached by it. LocalQueues take turns.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator
from itertools import islice
from math import inf
from typing import Final

from controller.cache.queue.pauses import Pause
from controller.core.workloads.backlog import Backlog
from controller.core.workloads.workload import QueueKey, WorkloadClass

PORTION: Final = 64
"""So many are asked about at a time: some thousandths of a second."""


class Asked:
    """`portion` is that of the next decision."""

    def __init__(self, backlog: Backlog) -> None:
        """The backlog is the cache's own, and only read."""
        self._backlog = backlog
        self._untold: dict[QueueKey, dict[WorkloadClass, None]] = {}
        self._round: Iterator[WorkloadClass] = iter(())
        self._is_going_round = False
        self._has_changed = False
        self._pause = Pause()
        self._portion: dict[WorkloadClass, None] = {}

    @property
    def portion(self) -> Collection[WorkloadClass]:
        """The classes to tell of."""
        return self._portion

    def ask(self, kind: WorkloadClass) -> None:
        """Let a class be among the next: nothing was said of it yet, or what was said holds no more."""
        self._untold.setdefault(kind.queue, {})[kind] = None

    def class_left(self, kind: WorkloadClass) -> None:
        """Take in that no workload of a class waits any more."""
        self._portion.pop(kind, None)
        self._forget_untold(kind)

    def changed(self) -> None:
        """Take in that something changed: others may be short of something else now."""
        self._has_changed = True

    def begin_anew(self) -> None:
        """Begin a round over all of them at once."""
        self._has_changed, self._is_going_round = True, False
        self._pause.end()

    def advance(self, now: float) -> None:
        """Let it be this time, epoch seconds: the next are asked about, if it is time."""
        if self._pause.is_on(now):
            return
        if not self._is_going_round and self._has_changed:
            self._round, self._is_going_round, self._has_changed = self._in_turn(), True, False
        left = PORTION - len(self._portion)
        self._portion.update(dict.fromkeys(islice(self._take_untold(), max(0, left))))
        left = PORTION - len(self._portion)
        found = list(islice(self._round, max(0, left)))
        self._portion.update(dict.fromkeys(found))
        self._is_going_round = self._is_going_round and len(found) == left
        self._pause.end()
        if len(self._portion) >= PORTION:
            self._pause.begin(now)

    def next_change(self, now: float) -> float:
        """Return when more are to be asked about, epoch seconds; infinite: all was said."""
        is_any = self._untold or self._is_going_round or self._has_changed
        return self._pause.over_at(now) if is_any else inf

    def told(self, kinds: Collection[WorkloadClass], *, is_complete: bool) -> None:
        """Take in of which classes a decision told; one that is complete came to all of the portion."""
        for kind in kinds:
            self._forget_untold(kind)
        self._portion = {} if is_complete else {kind: None for kind in self._portion if kind not in kinds}

    def _forget_untold(self, kind: WorkloadClass) -> None:
        untold = self._untold.get(kind.queue)
        if untold is not None and untold.pop(kind, self) is not self and not untold:
            del self._untold[kind.queue]

    def _take_untold(self) -> Iterator[WorkloadClass]:
        """Take one of each LocalQueue in turn."""
        while self._untold:
            queue = next(iter(self._untold))
            kinds = self._untold.pop(queue)
            kind = next(iter(kinds))
            del kinds[kind]
            if kinds:
                self._untold[queue] = kinds
            yield kind

    def _in_turn(self) -> Iterator[WorkloadClass]:
        """Yield all that wait, one of each LocalQueue in turn."""
        lines = deque((queue, iter(self._backlog.classes(queue))) for queue in self._backlog.queues())
        while lines:
            queue, line = lines.popleft()
            kind = next(line, None)
            if kind is None:
                continue
            lines.append((queue, line))
            if kind in self._backlog.runs:
                yield kind
