"""Release patches whose fate is not known: of which pods, since when, and how many in each namespace."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from controller.core.workloads.pods import Pod


@dataclass(frozen=True, slots=True)
class Doubt:
    """One of them: the pod as namespace/name, the ClusterQueue that is charged, and since when (epoch seconds)."""

    pod: str
    cluster_queue: str
    since: float


class Doubts:
    """By the pods' uids, oldest first. Their quota stays taken (`ClusterCache.assumed`) until they end."""

    def __init__(self) -> None:
        self.open: dict[str, Doubt] = {}
        self._by_namespace: Counter[str] = Counter()

    def begin(self, pod: Pod, cluster_queue: str, now: float) -> None:
        """Note that a patch of this pod got no answer; of a Job that changed since, maybe another one."""
        self._by_namespace[pod.namespace] += pod.uid not in self.open
        self.open[pod.uid] = Doubt(pod.key, cluster_queue, now)

    def end(self, pod: Pod) -> None:
        """Note that it is known what became of it."""
        if self.open.pop(pod.uid, None) is not None:
            self._by_namespace[pod.namespace] -= 1
            if not self._by_namespace[pod.namespace]:
                del self._by_namespace[pod.namespace]

    def count(self, namespace: str) -> int:
        """Return how many there are of pods of this namespace."""
        return self._by_namespace[namespace]

    def older_than(self, moment: float, cluster_queue: str) -> list[Doubt]:
        """Return those of this ClusterQueue that began before `moment`, oldest first."""
        return [one for one in self.open.values() if one.since < moment and one.cluster_queue == cluster_queue]

    def oldest_seconds(self, now: float) -> float:
        """Return how long the oldest has been open; 0 where there is none."""
        return max((now - one.since for one in self.open.values()), default=0.0)
