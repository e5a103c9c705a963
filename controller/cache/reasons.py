"""Why each class of workloads waits, and whose pod does not say so yet.

A pod is due when its condition may differ from what it should say. Due pods are kept by age, so that the oldest is
written first and a long queue whose reasons do not change costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heappop, heappush

from controller.core.decisions import Wait
from controller.core.reasons import Reason
from controller.core.workloads import Workload, WorkloadClass

_NOT_YET = Wait(Reason.PENDING, "not yet looked at")


class Reasons:
    """The latest Wait of each class, and the uids of pods whose condition may have to be written."""

    def __init__(self) -> None:
        self._waits: dict[WorkloadClass, Wait] = {}
        self._queued: list[tuple[float, str]] = []
        self._queued_uids: set[str] = set()
        self.released: dict[str, None] = {}
        """Released pods that still say why they waited, first released first."""

    def of(self, kind: WorkloadClass) -> Wait:
        """Return why workloads of this class wait."""
        return self._waits.get(kind, _NOT_YET)

    def known(self) -> list[WorkloadClass]:
        """Classes that any decision has said something of."""
        return list(self._waits)

    def learn(self, kind: WorkloadClass, wait: Wait, members: Iterable[Workload]) -> None:
        """Take in what a decision said of a class; its members become due when the reason is another one."""
        former = self._waits.get(kind)
        self._waits[kind] = wait
        if former is None or former.reason is not wait.reason:
            for member in members:
                self.mark(member)

    def forget(self, kind: WorkloadClass) -> None:
        """Drop a class of which nothing waits any more."""
        self._waits.pop(kind, None)

    def mark(self, workload: Workload) -> None:
        """Make a queued workload due."""
        if workload.uid not in self._queued_uids:
            self._queued_uids.add(workload.uid)
            heappush(self._queued, (workload.order[1], workload.uid))

    def next_queued(self, created_before: float) -> str | None:
        """Take the oldest due queued pod, if it was created before that time (epoch seconds)."""
        if not self._queued or self._queued[0][0] > created_before:
            return None
        uid = heappop(self._queued)[1]
        self._queued_uids.discard(uid)
        return uid
