"""Which classes an event may let in: what was said of those holds no longer, and they are looked at again."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from typing import Protocol

from controller.cache.blocked import Blocked
from controller.cache.doors import Doors
from controller.cache.usage import GivenBack, Usage
from controller.core.backlog import Backlog
from controller.core.queues import ClusterQueue
from controller.core.quota_tree import QuotaTree
from controller.core.workloads import WorkloadClass


class Planted(Protocol):
    """Where the quota tree is found that holds now."""

    @property
    def tree(self) -> QuotaTree:
        """The tree, with what is used in it counted."""


class Openings:
    """All that it is made of is the cache's own."""

    def __init__(self, doors: Doors, backlog: Backlog, blocked: Blocked, usage: Usage, planted: Planted) -> None:
        self._doors = doors
        self._backlog = backlog
        self._blocked = blocked
        self._usage = usage
        self._planted = planted
        self._preempting: set[str] = set()

    def classes_of(self, cluster_queue: str) -> Iterable[WorkloadClass]:
        """Classes that have workloads waiting for this cluster queue."""
        return (kind for key in self._doors.of(cluster_queue) for kind in self._backlog.classes(key))

    def queue_changed(self, name: str, queue: ClusterQueue | None) -> None:
        """Take in whether workloads of a cluster queue may preempt."""
        may_preempt = queue is not None and queue.preemption.is_any
        (self._preempting.add if may_preempt else self._preempting.discard)(name)

    def given_back(self, back: GivenBack, summed: Container[str], giving: Callable[[str], Iterable[str]]) -> None:
        """Open those for which what was given back may be enough.

        `summed` are the flavors whose room is known by sums, `giving` says which cluster queues give one.
        """
        if back.node:
            self._blocked.freed.add(back.node)
        if not self._blocked.waits:
            return
        if back.cluster_queue:
            self.usage_moved(back.cluster_queue)
            tree = self._planted.tree
            for name in tree.relatives(back.cluster_queue):
                self._blocked.open_for_quota(self.classes_of(name), name, back.flavors, tree, self._usage)
        for flavor in back.flavors:
            for name in giving(flavor) if flavor in summed else ():
                self.tree_changed(name)

    def usage_moved(self, cluster_queue: str) -> None:
        """Open those of its tree that may preempt: who borrows, and so may go, changed."""
        if not self._preempting:
            return  # every release asks, and most clusters preempt nobody
        for name in self._preempting & set(self._planted.tree.relatives(cluster_queue)):
            self._blocked.open(self.classes_of(name))

    def tree_changed(self, cluster_queue: str) -> None:
        """Open all of a queue's tree."""
        for name in self._planted.tree.relatives(cluster_queue):
            self._blocked.open(self.classes_of(name))
