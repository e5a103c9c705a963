"""Which queued pods get to a later flavor when, by `fallbackAfter` of their queues. Rule: `core.queueing.fallback`."""

from __future__ import annotations

from collections.abc import Mapping

from controller.cache.timers.timers import Timers
from controller.core.queueing.fallback import Steps, steps_of, waited
from controller.core.queueing.queues import ClusterQueue, LocalQueue
from controller.core.workloads.backlog import Backlog
from controller.core.workloads.pods import Pod
from controller.core.workloads.workload import QueueKey


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
        self.timers = Timers()

    def waited(self, pod: Pod) -> int:
        """Return the last step that a queued pod has reached, and wake when it reaches the next."""
        steps = self._steps_of((pod.namespace, pod.queue or ""))
        reached, following = waited(steps, self.timers.now - pod.created)
        self.timers.set(pod.uid, None if following is None else pod.created + following)
        return reached

    def observe(self, uid: str) -> None:
        """Drop the timer of a pod that waits no more."""
        if uid not in self._backlog:
            self.timers.set(uid, None)

    def moved(self) -> list[str]:
        """Return the queued pods whose queue has other steps than when they were looked at."""
        known = {key: self._steps.pop(key, ()) for key in self._backlog.queues()}
        others = [key for key, steps in known.items() if self._steps_of(key) != steps]
        kinds = [kind for key in others for kind in self._backlog.classes(key)]
        return [uid for kind in kinds for workload in self._backlog.runs[kind] for uid in workload.pods]

    def _steps_of(self, key: QueueKey) -> Steps:
        steps = self._steps.get(key)
        if steps is None:
            local = self._local_queues.get(key)
            steps = self._steps[key] = steps_of(self._queues.get(local.cluster_queue) if local is not None else None)
        return steps
