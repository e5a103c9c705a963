"""Which notices follow from what happens to pods: one for each workload and event, not one for each pod.

What happens to pods of one workload within two seconds is one notice. Times are epoch seconds.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field
from math import inf
from typing import Final, Generic, TypeVar

from controller.core.workloads.decisions import Evict
from controller.core.workloads.pods import Pod
from controller.notifications.notices import LateStart, Notice, WorkloadRef, admitted, evicted, late, workload_of

_T = TypeVar("_T")

COLLECT_SECONDS: Final = 2.0
REPEAT_SECONDS: Final = 600.0
"""A controller that starts tells once more what was admitted in this time: the one before may not have."""


@dataclass(slots=True)
class _Collected(Generic[_T]):
    """What happened to a workload's pods, by uid, and when the first of it did."""

    began: float
    parts: dict[str, _T] = field(default_factory=dict)


_Pending = dict[WorkloadRef, _Collected[_T]]


class WorkloadNotices:
    """Collects what happens to pods. `take` returns what is to be told by now."""

    def __init__(self) -> None:
        self._admissions: _Pending[Pod] = {}
        self._evictions: _Pending[Evict] = {}
        self._lateness: _Pending[LateStart] = {}
        self._admitted: set[WorkloadRef] = set()
        """Of these the admission was told; of one that was evicted after that, the next is told again."""
        self._late: set[WorkloadRef] = set()
        self._before: dict[WorkloadRef, list[Pod]] = {}

    # -- what happens ----------------------------------------------------------------------------------------------

    def admitted(self, pod: Pod, now: float) -> None:
        """A pod, stamped, was admitted."""
        _collect(self._admissions, pod, pod, now)

    def evicted(self, evict: Evict, now: float) -> None:
        """Penstock has evicted a pod."""
        _collect(self._evictions, evict.pod, evict, now)

    def late(self, start: LateStart, now: float) -> None:
        """A pod waits longer than its first forecast said; it may be told of any number of times."""
        if workload_of(start.pod) not in self._late:
            _collect(self._lateness, start.pod, start, now)

    def is_told_late(self, pod: Pod) -> bool:
        """Whether nothing follows from it if this pod is late."""
        return workload_of(pod) in self._late

    # -- what a controller finds at its start ----------------------------------------------------------------------

    def found(self, pod: Pod) -> None:
        """A pod was there at the start; those that were admitted since then do not count."""
        ref = workload_of(pod)
        if pod.queue is None or not pod.admitted_at or not pod.cluster_queue:
            return
        if ref not in self._admissions or pod.uid not in self._admissions[ref].parts:
            self._before.setdefault(ref, []).append(pod)

    def repeated(self, now: float) -> list[Notice]:
        """Return what may not have been told of the pods that were found; of all others it was."""
        repeats = []
        for ref, pods in self._before.items():
            self._admitted.add(ref)
            began = min(pod.admitted_at for pod in pods)
            if began >= now - REPEAT_SECONDS:
                first = [pod for pod in pods if pod.admitted_at <= began + COLLECT_SECONDS]
                repeats.append(admitted(ref, first, is_repeat=True))
        self._before = {}
        return repeats

    # -- what is told ----------------------------------------------------------------------------------------------

    def take(self, now: float = inf) -> list[Notice]:
        """Return what is to be told by now, and forget it; without a time, all that there is."""
        notices = [self._of_eviction(ref, one) for ref, one in _due(self._evictions, now)]
        for ref, admissions in _due(self._admissions, now):
            if ref not in self._admitted:
                self._admitted.add(ref)
                notices.append(admitted(ref, list(admissions.parts.values())))
        for ref, starts in _due(self._lateness, now):
            self._late.add(ref)
            notices.append(late(ref, list(starts.parts.values()), starts.began))
        return notices

    def _of_eviction(self, ref: WorkloadRef, evictions: _Collected[Evict]) -> Notice:
        self._admitted.discard(ref)
        return evicted(ref, list(evictions.parts.values()), evictions.began)

    def keep(self, there: Container[WorkloadRef]) -> None:
        """Forget what was told of workloads without pods."""
        self._admitted = {ref for ref in self._admitted if ref in there}
        self._late = {ref for ref in self._late if ref in there}


def _collect(pending: dict[WorkloadRef, _Collected[_T]], pod: Pod, part: _T, now: float) -> None:
    pending.setdefault(workload_of(pod), _Collected(now)).parts[pod.uid] = part


def _due(pending: dict[WorkloadRef, _Collected[_T]], now: float) -> list[tuple[WorkloadRef, _Collected[_T]]]:
    """Take out what was begun long enough ago, or at a time that a clock since moved back has not reached."""
    refs = [ref for ref, one in pending.items() if not one.began <= now < one.began + COLLECT_SECONDS]
    return [(ref, pending.pop(ref)) for ref in refs]
