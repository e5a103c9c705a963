"""Local queues, and which of them lead to a cluster queue."""

from __future__ import annotations

from collections.abc import Sequence

from controller.core.queueing.queues import LocalQueue
from controller.core.workloads.workload import QueueKey


class LocalQueueIndex:
    """`all` by namespace and name."""

    def __init__(self) -> None:
        self.all: dict[QueueKey, LocalQueue] = {}
        self._leading_to: dict[str, list[QueueKey]] | None = None

    def put(self, key: QueueKey, queue: LocalQueue | None) -> None:
        """Take in a local queue, or forget it."""
        self._leading_to = None
        if queue is None:
            self.all.pop(key, None)
        else:
            self.all[key] = queue

    def of(self, cluster_queue: str) -> Sequence[QueueKey]:
        """Local queues that lead to this cluster queue."""
        if self._leading_to is None:
            self._leading_to = {}
            for key, local in self.all.items():
                self._leading_to.setdefault(local.cluster_queue, []).append(key)
        return self._leading_to.get(cluster_queue, [])
