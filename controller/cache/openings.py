"""Which classes an event may let in: what was said of those holds no longer, and they are looked at again."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from typing import Protocol

from controller.cache.blocked import Blocked
from controller.cache.doors import Doors
from controller.cache.keyed import put_or_drop
from controller.cache.usage import GivenBack, Usage
from controller.core.backlog import Backlog
from controller.core.preemption_policy import Preemption, Reclaim, Within
from controller.core.queues import ClusterQueue
from controller.core.quota_tree import QuotaTree
from controller.core.settled import contested
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
        self._preempting: dict[str, Preemption] = {}

    def classes_of(self, cluster_queue: str) -> Iterable[WorkloadClass]:
        """Classes that have workloads waiting for this cluster queue."""
        return (kind for key in self._doors.of(cluster_queue) for kind in self._backlog.classes(key))

    def queue_changed(self, name: str, queue: ClusterQueue | None) -> None:
        """Take in whether workloads of a cluster queue may preempt."""
        may_preempt = queue is not None and queue.preemption.is_any
        put_or_drop(self._preempting, name, queue.preemption if queue is not None and may_preempt else None)

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
        for name in self._preempting.keys() & set(self._planted.tree.relatives(cluster_queue)):
            self._blocked.open(self.classes_of(name))

    def may_be_preempted(self, cluster_queue: str, flavors: Iterable[str]) -> None:
        """Open those who may preempt pods that are charged there, and found others in the way in these flavors."""
        if not self._preempting or not self._blocked.waits or not cluster_queue:
            return
        in_all = {"", *flavors}
        for name in self._preempting.keys() & set(self._planted.tree.relatives(cluster_queue)):
            policy = self._preempting[name]
            if policy.within is not Within.NEVER if name == cluster_queue else policy.reclaim is not Reclaim.NEVER:
                waits = ((kind, self._blocked.waits.get(kind)) for kind in self.classes_of(name))
                self._blocked.open([kind for kind, wait in waits if wait is not None and contested(wait) & in_all])

    def tree_changed(self, cluster_queue: str) -> None:
        """Open all of a queue's tree."""
        for name in self._planted.tree.relatives(cluster_queue):
            self._blocked.open(self.classes_of(name))
