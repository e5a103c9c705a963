"""When flavors open to a workload: `fallback_after` of the flavors before them, counted from its creation.

Its creation is the one clock that no restart forgets. What each flavor then says is `fitting.placement`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from controller.core.queueing.queues import ClusterQueue

Steps = tuple[int, ...]
"""The times that a queue lets workloads wait, in seconds, ascending."""


def steps_of(queue: ClusterQueue | None) -> Steps:
    """Return after which times a workload of the queue may get another flavor; empty: all are open at once."""
    return () if queue is None else tuple(sorted({quota.fallback_after for quota in queue.flavors} - {0}))


def waited(steps: Sequence[int], seconds: float) -> tuple[int, int | None]:
    """Return the last step that a wait of so many seconds has reached (0: none), and the next (None: no more)."""
    reached = bisect_right(steps, seconds)
    return steps[reached - 1] if reached else 0, steps[reached] if reached < len(steps) else None
