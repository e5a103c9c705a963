"""The LocalQueues and ClusterQueues of a live cluster, each kind kept by an informer."""

from __future__ import annotations

from collections.abc import Iterable

from controller.core.queues import LocalQueue
from controller.core.scheduler_preemption import QueueWord, Ruling, ruling


class KnownLocalQueues:
    """Where each LocalQueue leads."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], LocalQueue] = {}

    def replace(self, items: Iterable[LocalQueue]) -> None:
        """All queues there are."""
        self._known = {(item.namespace, item.name): item for item in items}

    def upsert(self, item: LocalQueue) -> None:
        """One queue is new or changed."""
        self._known[item.namespace, item.name] = item

    def remove(self, item: LocalQueue) -> None:
        """One queue is gone."""
        self._known.pop((item.namespace, item.name), None)

    def get(self, namespace: str, name: str) -> LocalQueue | None:
        """Return a queue, None when there is none."""
        return self._known.get((namespace, name))


class KnownClusterQueues:
    """What each ClusterQueue says of kube-scheduler's preemption."""

    def __init__(self) -> None:
        self._known: dict[str, QueueWord] = {}

    def replace(self, items: Iterable[QueueWord]) -> None:
        """All queues there are."""
        self._known = {item.name: item for item in items}

    def upsert(self, item: QueueWord) -> None:
        """One queue is new or changed."""
        self._known[item.name] = item

    def remove(self, item: QueueWord) -> None:
        """One queue is gone."""
        self._known.pop(item.name, None)

    def ruling(self, name: str) -> Ruling | None:
        """Say what holds for the pods of a queue, by what those above it say too; None when there is none."""
        return ruling(name, self._known)
