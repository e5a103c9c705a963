"""Who waits, in order: one sorted run per class. Mutable; the cache keeps it, the decision only reads it."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from controller.core.workloads.workload import OrderKey, QueueKey, Workload, WorkloadClass


def _order(workload: Workload) -> OrderKey:
    return workload.order


class Backlog:
    """Waiting workloads by class. Adding and removing cost a search in one run, whatever the total."""

    def __init__(self) -> None:
        self._runs: dict[WorkloadClass, list[Workload]] = {}
        self._by_uid: dict[str, Workload] = {}
        self._gang_of: dict[str, Workload] = {}
        self._classes: dict[QueueKey, set[WorkloadClass]] = {}
        self._pods: dict[QueueKey, int] = {}
        """How many pods wait in each local queue; none where nothing does."""

    def __len__(self) -> int:
        return len(self._by_uid)

    def __contains__(self, uid: object) -> bool:
        return uid in self._by_uid

    def get(self, uid: str) -> Workload | None:
        """Return the waiting workload of this uid."""
        return self._by_uid.get(uid)

    def of_pod(self, uid: str) -> Workload | None:
        """Return the workload as which, or with which, this pod waits."""
        return self._by_uid.get(uid) or self._gang_of.get(uid)

    def put(self, workload: Workload) -> Workload | None:
        """Add a workload, or move it to its new place; return it as it is kept, None where nothing changed."""
        known = self._by_uid.get(workload.uid)
        if known == workload:
            return None
        if known is not None:
            self.remove(workload.uid)
        run = self._runs.setdefault(workload.kind, [])
        if run:
            # one object for all of a class: a decision looks it up often, and what is identical need not be compared
            workload = replace(workload, kind=run[0].kind)
        else:
            self._classes.setdefault(workload.kind.queue, set()).add(workload.kind)
        self._by_uid[workload.uid] = workload
        self._gang_of.update(dict.fromkeys(workload.members, workload))
        self._count(workload.kind, 1)
        insort(run, workload, key=_order)
        return workload

    def remove(self, uid: str) -> Workload | None:
        """Take a workload out; return it, or None when it was not waiting."""
        workload = self._by_uid.pop(uid, None)
        if workload is None:
            return None
        for pod in workload.members:
            # another gang may have taken the pod over by now
            if self._gang_of.get(pod) is workload:
                del self._gang_of[pod]
        self._count(workload.kind, -1)
        run = self._runs[workload.kind]
        del run[bisect_left(run, workload.order, key=_order)]
        if not run:
            del self._runs[workload.kind]
            classes = self._classes[workload.kind.queue]
            classes.discard(workload.kind)
            if not classes:
                del self._classes[workload.kind.queue]
        return workload

    @property
    def runs(self) -> Mapping[WorkloadClass, Sequence[Workload]]:
        """The waiting workloads of each class, in order. Never an empty run."""
        return self._runs

    def classes(self, queue: QueueKey) -> frozenset[WorkloadClass]:
        """Classes that have workloads waiting in this local queue."""
        return frozenset(self._classes.get(queue, ()))

    def count_classes(self, queue: QueueKey) -> int:
        """Return how many classes wait in this local queue."""
        return len(self._classes.get(queue, ()))

    def waiting(self, queue: QueueKey) -> list[Workload]:
        """Return what waits in this local queue, in no order."""
        return [workload for kind in self._classes.get(queue, ()) for workload in self._runs[kind]]

    def queues(self) -> Iterator[QueueKey]:
        """Local queues that have anything waiting."""
        return iter(self._classes)

    def count(self, queue: QueueKey) -> int:
        """How many pods wait in this local queue."""
        return self._pods.get(queue, 0)

    def _count(self, kind: WorkloadClass, number: int) -> None:
        """Take in that so many workloads of a class came, or went where that is negative."""
        total = self._pods.get(kind.queue, 0) + number * kind.wanted
        if total:
            self._pods[kind.queue] = total
        else:
            del self._pods[kind.queue]
