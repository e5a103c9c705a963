"""Why each class of workloads waits, and whose pod does not say so yet.

A pod is due when its condition may differ from what it should say. Released pods that still say why they waited come
first, then those that say nothing yet, the oldest first; those that say something old are put right no more than once a
minute each, so that a queue whose reasons flip does not flood the apiserver. What people do by hand is due within
seconds. A long queue whose reasons do not change costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heappop, heappush
from math import inf

from controller.core.reasons import Reason
from controller.core.workloads.decisions import NOT_YET, Wait
from controller.core.workloads.elastic_jobs import IN_PART
from controller.core.workloads.pods import Pod, PublishedCondition
from controller.core.workloads.workload import WorkloadClass

RESERVED = "Reserved"
"""Reason of the condition of a pod that was admitted and is on no node for too long."""
_SETTLING_SECONDS = 3.0
"""A pod that is released within this time never gets a condition, and none is written twice within it."""
_REWRITE_SECONDS = 60.0
_BY_HAND = frozenset({Reason.HELD, Reason.QUEUE_STOPPED, Reason.QUEUE_INVALID})
"""What comes and goes as people change something, and tells them what to do."""


class Reasons:
    """The latest Wait of each class, and the uids of pods whose condition may have to be written."""

    def __init__(self) -> None:
        self._waits: dict[WorkloadClass, Wait] = {}
        self._silent: list[tuple[float, str]] = []
        self._outdated: list[tuple[float, str]] = []
        self._due: dict[str, float] = {}
        self.released: dict[str, None] = {}
        """Released pods that still say why they waited, first released first."""

    def of(self, kind: WorkloadClass) -> Wait:
        """Return why workloads of this class wait; `Wait.of` says it of each."""
        return self._waits.get(kind, NOT_YET)

    def learn(self, kind: WorkloadClass, wait: Wait) -> bool:
        """Take in what a decision said of a class; say whether its members' conditions may be outdated by it."""
        former = self._waits.get(kind)
        self._waits[kind] = wait
        return former is None or wait.tells_more_than(former)

    def forget(self, kinds: Iterable[WorkloadClass]) -> None:
        """Drop classes of which nothing waits any more."""
        for kind in kinds:
            self._waits.pop(kind, None)

    def mark(self, uid: str, *, kind: WorkloadClass, created: float, said: PublishedCondition | None) -> None:
        """Make a queued pod of this class due, at the time (epoch) from which its condition may be written."""
        heap, at = self._silent, created + _SETTLING_SECONDS
        if said is not None:
            is_soon = said.reason in _BY_HAND or self.of(kind).reason in _BY_HAND
            # a Job that was suspended again still says that it is admitted; one of which more pods wait is
            is_soon = is_soon or (said.status == "True" and not kind.pod_sets[0].shape.constraints.only)
            heap, at = self._outdated, said.at + (_SETTLING_SECONDS if is_soon else _REWRITE_SECONDS)
        if at < self._due.get(uid, inf):
            self._due[uid] = at
            heappush(heap, (at, uid))

    @staticmethod
    def is_outdated(pod: Pod, *, is_overdue: bool) -> bool:
        """Whether the condition on an admitted pod has to be written. One that said nothing says nothing now."""
        said = pod.said
        if said is None:
            return is_overdue
        is_old = said.reason == IN_PART and not pod.more
        return is_old or said.status != "True" or (said.reason == RESERVED) != is_overdue

    def next(self, now: float) -> str | None:
        """Take the next pod that is due and whose time has come: released ones first.

        A time that lies further ahead than any is set means that the clock went back: it has come, too.
        """
        if self.released:
            uid = next(iter(self.released))
            del self.released[uid]
            return uid
        for heap in (self._silent, self._outdated):
            while heap and not now < heap[0][0] <= now + _REWRITE_SECONDS:
                at, uid = heappop(heap)
                if self._due.get(uid) == at:  # else it became due earlier, and had its turn
                    del self._due[uid]
                    return uid
        return None
