"""The local queues, and which of them lead to a cluster queue."""

from __future__ import annotations

from collections.abc import Sequence

from controller.core.queues import LocalQueue
from controller.core.workloads import QueueKey


class Doors(dict[QueueKey, LocalQueue]):
    """Local queues by namespace and name; changed by `put` alone."""

    def __init__(self) -> None:
        super().__init__()
        self._leading: dict[str, list[QueueKey]] | None = None

    def put(self, key: QueueKey, queue: LocalQueue | None) -> None:
        """Take in a local queue, or forget it."""
        self._leading = None
        if queue is None:
            self.pop(key, None)
        else:
            self[key] = queue

    def leading_to(self, cluster_queue: str) -> Sequence[QueueKey]:
        """Local queues that lead to this cluster queue."""
        if self._leading is None:
            self._leading = {}
            for key, local in self.items():
                self._leading.setdefault(local.cluster_queue, []).append(key)
        return self._leading.get(cluster_queue, ())
