"""Which queued pods get to a later flavor when, by the `fallbackAfter` of their queues. The rule is `core.fallback`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from heapq import heappop, heappush

from controller.core.backlog import Backlog
from controller.core.fallback import Steps, steps_of, waited
from controller.core.pods import Pod
from controller.core.queues import ClusterQueue, LocalQueue
from controller.core.windows import FOR_EVER
from controller.core.workloads import QueueKey


class Fallbacks:
    """A timer for each queued pod that has a step before it. Costs nothing for queues without `fallbackAfter`."""

    def __init__(
        self, queues: Mapping[str, ClusterQueue], local_queues: Mapping[QueueKey, LocalQueue], backlog: Backlog
    ) -> None:
        """All three are the cache's own, and read as they are at the time."""
        self._queues = queues
        self._local_queues = local_queues
        self._backlog = backlog
        self._steps: dict[QueueKey, Steps] = {}
        self._next: dict[str, float] = {}
        self._timers: list[tuple[float, str]] = []
        self._now = 0.0

    def waited(self, pod: Pod) -> int:
        """Return the last step that a queued pod has reached, and wake when it reaches the next."""
        steps = self._steps_of((pod.namespace, pod.queue or ""))
        reached, following = waited(steps, self._now - pod.created)
        if following is None:
            self.forget(pod.uid)
        elif self._next.get(pod.uid) != pod.created + following:
            self._next[pod.uid] = pod.created + following
            heappush(self._timers, (pod.created + following, pod.uid))
        return reached

    def forget(self, uid: str) -> None:
        """Drop a pod that is queued no more."""
        self._next.pop(uid, None)

    def pass_to(self, now: float) -> Iterator[str]:
        """Let it be this time (epoch seconds); yield the pods that have reached their next step."""
        self._now = now
        while self._timers and self._timers[0][0] <= now:
            at, uid = heappop(self._timers)
            if self._next.get(uid) == at:
                del self._next[uid]
                yield uid

    def next_change(self) -> float:
        """Return when the next pod reaches a step, epoch seconds."""
        while self._timers and self._next.get(self._timers[0][1]) != self._timers[0][0]:
            heappop(self._timers)
        return self._timers[0][0] if self._timers else FOR_EVER

    def moved(self) -> list[str]:
        """Return the queued pods whose queue has other steps than when they were looked at."""
        known = {key: self._steps.pop(key, ()) for key in self._backlog.queues()}
        others = [key for key, steps in known.items() if self._steps_of(key) != steps]
        kinds = [kind for key in others for kind in self._backlog.classes(key)]
        return [workload.uid for kind in kinds for workload in self._backlog.runs[kind]]

    def _steps_of(self, key: QueueKey) -> Steps:
        steps = self._steps.get(key)
        if steps is None:
            local = self._local_queues.get(key)
            steps = self._steps[key] = steps_of(self._queues.get(local.cluster_queue) if local is not None else None)
        return steps
