"""Takes the executor's place in a shadow: nothing is released; each admission waits until the leader makes it.

It stays assumed meanwhile, as with the leader, so that later decisions see the same quota and room.
"""

from __future__ import annotations

from controller.cache.cluster import ClusterCache
from controller.core.workloads.decisions import Admit
from controller.core.workloads.pods import Phase, Pod
from controller.kube import clock
from controller.runtime.observing.differences import Differences
from controller.runtime.observing.patience import AGAIN_SECONDS, PATIENCE_SECONDS, Patience
from controller.telemetry.metrics import Observed, ObservedKind

_NOT_RELEASED = f"this replica decided to release the pod, and within {PATIENCE_SECONDS:g} s the leader did not"


class ObservedAdmissions:
    """Admissions that were decided on here, and how long each pod has waited. Call `look` about once a second."""

    def __init__(self, cache: ClusterCache, differences: Differences, *, ahead: int) -> None:
        """At most `ahead` admissions are assumed at a time."""
        self._cache = cache
        self._differences = differences
        self._ahead = ahead
        self._decided: Patience[Admit] = Patience(PATIENCE_SECONDS)
        self._left_alone: Patience[None] = Patience(AGAIN_SECONDS)
        self._queued_since: dict[str, float] = {}
        """Since when each queued pod is known here as it is, monotonic."""

    def room(self) -> int:
        """How many more admissions may be decided on: the leader does not get further ahead of its patches either."""
        return max(0, self._ahead - len(self._decided))

    def submit(self, admit: Admit) -> None:
        """Wait for the leader to do the same; the workload is assumed already."""
        self._decided.add(admit.uid, admit)

    def observe(self, before: Pod | None, pod: Pod, *, is_due: bool) -> None:
        """Compare what became of a pod with what was decided here; the cache has taken it in already.

        `is_due`: what was known before that was not decided on yet.
        """
        if pod.phase is Phase.QUEUED:
            self._observe_queued(before, pod)
            return
        since, admit = self._queued_since.pop(pod.uid, None), self._decided.take(pod.uid)
        was_left_alone = pod.uid in self._left_alone
        self._left_alone.take(pod.uid)
        if admit is not None:
            self._cache.settle(pod.uid)
            if pod.is_admitted:
                self._compare(admit, pod)
        elif pod.is_admitted and since is not None and not was_left_alone:
            self._undecided(pod, clock.monotonic() - since, is_due=is_due)

    def _observe_queued(self, before: Pod | None, pod: Pod) -> None:
        if before is not None and _state(before) == _state(pod) and pod.uid in self._queued_since:
            return
        self._queued_since[pod.uid] = clock.monotonic()
        # one that was edited is decided again, as by the leader, whose patch is refused then
        if self._decided.take(pod.uid) is not None:
            self._cache.settle(pod.uid)

    def forget(self, uid: str) -> None:
        """Drop a pod that is gone: nobody knows what the leader would have done."""
        self._queued_since.pop(uid, None)
        self._decided.take(uid)
        self._left_alone.take(uid)

    def look(self) -> None:
        """Give the quota of what the leader did not do back; decide anew on pods that were left alone long enough."""
        for uid, admit in self._decided.due():
            pod = self._cache.pods.get(uid)
            if pod is not None and pod.is_job and self._is_over(admit, pod):
                continue
            # held back, not only settled: the next decision would say the same, and keep the quota from all others
            self._cache.reject(uid, _NOT_RELEASED)
            self._left_alone.add(uid, None)
            if pod is not None:
                ours = f"ClusterQueue {admit.cluster_queue}, {admit.onto}"
                self._differs(Observed.NOT_RELEASED, pod, ours, "the pod still waits")
        for uid, _ in self._left_alone.due():
            self._cache.retry(uid)

    def _is_over(self, admit: Admit, job: Pod) -> bool:
        """Say whether a Job waits no more as was decided on; its changes are not observed one by one.

        Where it got more pods, the cache has ended the assumption of these by itself.
        """
        if job.phase is Phase.QUEUED and self._cache.assumed(job.uid) is admit:
            return False
        self._cache.settle(job.uid)
        if job.is_admitted:
            self._compare(admit, job)
        return True

    def _compare(self, admit: Admit, pod: Pod) -> None:
        ours = admit.cluster_queue, admit.flavors or (admit.flavor,)
        theirs = pod.cluster_queue, pod.flavors or (pod.flavor,)
        if ours == theirs:
            self._differences.count(ObservedKind.ADMISSION, Observed.AGREED)
            return
        self._differs(Observed.OTHERWISE, pod, f"ClusterQueue {admit.cluster_queue}, {admit.onto}", _released_as(pod))

    def _undecided(self, pod: Pod, waited: float, *, is_due: bool) -> None:
        """Count a difference only where the pod waited for long, while decisions were made here that could admit it."""
        if waited <= PATIENCE_SECONDS or is_due or not self.room():
            self._differences.count(ObservedKind.ADMISSION, Observed.NOT_COMPARED)
            return
        self._differs(Observed.RELEASED_FIRST, pod, f"left waiting for {int(waited)} s", _released_as(pod))

    def _differs(self, result: Observed, pod: Pod, ours: str, theirs: str) -> None:
        self._differences.differs(ObservedKind.ADMISSION, result, pod, ours=ours, theirs=theirs)


def _state(pod: Pod) -> tuple[object, ...]:
    """What people can change of a queued pod so that an earlier decision does not hold."""
    return pod.queue, pod.gates, pod.generation, pod.held


def _released_as(pod: Pod) -> str:
    if pod.cluster_queue is None:
        return "released without Penstock's stamps"
    return f"ClusterQueue {pod.cluster_queue}, flavors {', '.join(pod.flavors or (pod.flavor or '',))}"
