"""The LocalQueues and ClusterQueues of a live cluster, each kind kept by an informer."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Generic, TypeVar

from controller.core.queueing.queues import LocalQueue
from controller.core.queueing.scheduler_preemption import QueueWord, Ruling, ruling
from controller.kube.wire import Owned

_K = TypeVar("_K", bound=Hashable)
_V = TypeVar("_V")


class _Known(Generic[_K, _V]):
    """Queues of one kind."""

    def __init__(self, key_of: Callable[[_V | Owned], _K]) -> None:
        self._key_of = key_of
        self._known: dict[_K, _V] = {}

    def replace(self, items: Iterable[_V]) -> None:
        """All queues there are."""
        self._known = {self._key_of(item): item for item in items}

    def upsert(self, item: _V) -> None:
        """One queue is new or changed."""
        self._known[self._key_of(item)] = item

    def remove(self, gone: Owned) -> None:
        """One queue is gone."""
        self._known.pop(self._key_of(gone), None)


class KnownLocalQueues(_Known[tuple[str, str], LocalQueue]):
    """Where each LocalQueue leads."""

    def __init__(self) -> None:
        super().__init__(lambda item: (item.namespace, item.name))

    def get(self, namespace: str, name: str) -> LocalQueue | None:
        """Return a queue, None when there is none."""
        return self._known.get((namespace, name))

    def names_in(self, namespace: str) -> list[str]:
        """Return the names of a namespace's queues, in order; it goes over all, so ask seldom."""
        return sorted(name for where, name in self._known if where == namespace)


class KnownClusterQueues(_Known[str, QueueWord]):
    """What each ClusterQueue says of kube-scheduler's preemption."""

    def __init__(self) -> None:
        super().__init__(lambda item: item.name)

    def ruling(self, name: str) -> Ruling | None:
        """Say what holds for the pods of a queue, by what those above it say too; None when there is none."""
        return ruling(name, self._known)
