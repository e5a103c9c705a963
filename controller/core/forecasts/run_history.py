"""How long pods took, by their local queue and what they ask for: what is expected of others like them.

Mutable; the cache keeps it. Nothing of it is written anywhere: whoever starts learns anew, first from the pods that
ended and are still there.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator

from controller.core.kubernetes.amounts import Requests
from controller.core.workloads.workload import QueueKey

SAMPLES = 50
"""So many of the latest runs count."""
LEAST = 5
"""With fewer than so many nothing is expected."""
PERCENTILE = 90
"""So many of a hundred runs were no longer than what is expected."""
_MOST_KINDS = 10_000

_Kind = tuple[QueueKey, Requests]
_Run = tuple[int, str, int]
"""(when it ended in epoch seconds, the pod's uid, how many seconds it took)."""


class RunHistory:
    """The latest runs of each kind. A run that is told again changes nothing."""

    def __init__(self) -> None:
        self._runs: dict[_Kind, list[_Run]] = {}
        self._expected: dict[_Kind, int] = {}

    def note(self, queue: QueueKey, requests: Requests, run: _Run) -> bool:
        """Take in a run that succeeded; say whether others of its kind are expected to take another time now."""
        kind = (queue, requests)
        if kind not in self._runs and len(self._runs) >= _MOST_KINDS:
            oldest = next(iter(self._runs))
            del self._runs[oldest]
            self._expected.pop(oldest, None)
        runs = self._runs.setdefault(kind, [])
        if run in runs:
            return False
        insort(runs, run)
        del runs[:-SAMPLES]
        former = self.expected(queue, requests)
        if len(runs) >= LEAST:
            self._expected[kind] = _percentile(sorted(seconds for *_, seconds in runs))
        return self.expected(queue, requests) != former

    def __iter__(self) -> Iterator[tuple[QueueKey, Requests, _Run]]:
        """Yield all runs that are remembered, as `note` takes them, kind by kind."""
        for (queue, requests), runs in self._runs.items():
            for run in runs:
                yield queue, requests, run

    def expected(self, queue: QueueKey, requests: Requests) -> int:
        """Return the seconds that a pod of this queue that asks for these is expected to take; 0: nobody knows."""
        return self._expected.get((queue, requests), 0)


def _percentile(ascending: list[int]) -> int:
    """The nearest rank, and a second at least: 0 would say that nobody knows."""
    rank = -(-PERCENTILE * len(ascending) // 100)
    return max(1, ascending[rank - 1])
