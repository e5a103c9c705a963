"""Whose waiting pods a change of a cluster queue concerns, since queues above say too which classes pods may name."""

from __future__ import annotations

from controller.core.queueing.queues import ClusterQueue, SchedulerPreemption

_Said = tuple[str, frozenset[str] | None, bool]
"""Parent, the classes that are allowed, and whether PriorityClasses by which kube-scheduler preempts are forbidden."""


class AllowedClasses:
    """What each cluster queue says of classes of both kinds, and to whom: those below it."""

    def __init__(self) -> None:
        self._said: dict[str, _Said] = {}
        self._restricting: set[str] = set()

    def put(self, name: str, queue: ClusterQueue | None) -> bool:
        """Take in a cluster queue, or forget it; say whether pods of other queues may be concerned."""
        had_any, former = bool(self._restricting), self._said.pop(name, None)
        self._restricting.discard(name)
        if queue is not None:
            forbids = queue.scheduler_preemption is SchedulerPreemption.FORBID
            self._said[name] = (queue.parent, queue.allowed_classes, forbids)
            if queue.allowed_classes is not None or forbids:
                self._restricting.add(name)
        return (had_any or bool(self._restricting)) and former != self._said.get(name)
