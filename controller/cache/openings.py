"""Which classes an event may let in: what was said of those holds no longer, and they are looked at again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, product
from typing import Final, Protocol

from controller.cache.blocked import Blocked
from controller.cache.doors import Doors
from controller.cache.keyed import put_or_drop
from controller.cache.let_go import LetGo
from controller.cache.mixes import Mixes
from controller.cache.usage import GivenBack, Usage, taken
from controller.core.queueing.preemption_policy import NO_PREEMPTION, Preemption, Reclaim, Within
from controller.core.queueing.queues import ClusterQueue, Flavor
from controller.core.quota.quota_tree import QuotaTree
from controller.core.quota.tree_usage import TreeUsage
from controller.core.workloads.backlog import Backlog
from controller.core.workloads.charges import Charge
from controller.core.workloads.workload import WorkloadClass

_MOST_IN_A_ROW: Final = 3
"""Where shares decide, after so many decisions in which reservations gave way whom that concerns waits for the next
event.
"""


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
        self._learned = 0
        self._opened: set[tuple[object, ...]] = set()
        self._preempting: dict[str, Preemption] = {}
        self.mixes = Mixes()

    def classes_of(self, cluster_queue: str) -> Iterable[WorkloadClass]:
        """Classes that have workloads waiting for this cluster queue."""
        return (kind for key in self._doors.of(cluster_queue) for kind in self._backlog.classes(key))

    def queue_changed(self, name: str, queue: ClusterQueue | None) -> None:
        """Take in whether workloads of a cluster queue may preempt, and whether it has a mix."""
        self.mixes.queue_changed(name, queue)
        may_preempt = queue is not None and queue.preemption.is_any
        put_or_drop(self._preempting, name, queue.preemption if queue is not None and may_preempt else None)

    def given_back(
        self, back: GivenBack, flavors: Mapping[str, Flavor], giving: Callable[[str], Iterable[str]]
    ) -> None:
        """Open those for which what was given back may be enough; `giving` says which cluster queues give a flavor."""
        if back.node:
            self._blocked.freed.add(back.node)
        if not self._blocked.waits:
            return
        if back.cluster_queue:
            self._usage_fell(back)
            tree = self._planted.tree
            for name in tree.relatives(back.cluster_queue):
                self._blocked.open_for_quota(name, back.flavors, tree, self._usage)
        summed = [name for name in back.flavors if name in flavors and flavors[name].is_summed]
        self.trees_changed(chain.from_iterable(map(giving, summed)))

    def _usage_fell(self, back: GivenBack) -> None:
        """Stir those of its tree that may preempt in these flavors, if that may help more than the room on its node.

        Fewer borrow now, so fewer may go; only the quota that came free helps beside those. But who borrows from less
        far now has others give way, whatever their priority, who are farther; and a queue that came to have some of its
        own left takes back what is its own.
        By shares it is all of the tree: who has a smaller share by it may come after the preemptor's own, and others
        stand in its way then.
        """
        if not self._preempting:
            return  # most clusters preempt nobody
        tree, usage = self._planted.tree, self._usage.in_tree
        path = tree.path(back.cluster_queue)
        if tree.strategies(path[0]):
            self._share_moved(path[0])
            return
        before = TreeUsage(tree, usage)
        for flavor, (resource, amount) in product(back.flavors, back.requests):
            before.add(path[0], flavor, resource, amount)
        for flavor in back.flavors:
            self._stir_for_preemption(path[-1], flavor, short_of_room=False)
            self._stir_the_nearer(path, flavor, before)

    def _stir_the_nearer(self, path: Sequence[str], flavor: str, before: TreeUsage) -> None:
        """Stir those who borrow from less far up the path than before, and those whose queue owns some again."""
        usage = self._usage.in_tree
        cells = [column for column in self._planted.tree.cells(path[0]) if column[0] == flavor]
        is_under = any(usage.beyond(path[0], one) < 0 <= before.beyond(path[0], one) for one in cells)
        # at the root nobody is outside
        for name in self._may_preempt_below(path[-2] if len(path) > 1 else path[0]):
            owns_again = is_under and name == path[0]
            for kind in self.classes_of(name):
                if kind in self._blocked.waits and (
                    owns_again
                    or usage.highest_level(name, flavor, kind.requests)
                    < before.highest_level(name, flavor, kind.requests)
                ):
                    self._blocked.stir_for_preemption([kind], flavor, short_of_room=True)

    def _share_moved(self, queue: str) -> None:
        """Stir all of a tree that may preempt there: whatever the flavor, one of its queues has another share now."""
        root = self._planted.tree.path(queue)[-1]
        self._blocked.moved_shares.setdefault(root, set()).add(queue)
        if self._is_new(("shares of", root)):
            self._blocked.stir(chain.from_iterable(map(self.classes_of, self._may_preempt_below(root))))

    def _may_preempt_below(self, queue: str) -> Iterable[str]:
        return (name for name in self._planted.tree.below(queue) if name in self._preempting)

    def taken(self, former: Charge | None, now: Charge | None, held: Callable[[], Iterable[tuple[str, str]]]) -> bool:
        """Stir those of its tree that may preempt in the flavors of which a pod holds more now, and say whether any.

        Somebody more may go for them then: the pod itself, or those of its queue, which borrows by it, or by what is
        held for preemptors beside that: `held` says in which cluster queues, and of which flavors.
        """
        flavors = taken(former, now) if now is not None and self._preempting and self._blocked.waits else ()
        if now is None or not flavors:
            return False  # every change of a pod asks
        stirred, path = len(self._blocked.stirred), self._planted.tree.path(now.cluster_queue)
        if self._planted.tree.strategies(path[0]):
            self._share_moved(path[0])
            return len(self._blocked.stirred) > stirred
        borrowed = {flavor for one in path[:-1] for flavor in self._usage.in_tree.borrowed(one)}
        borrowed |= {flavor for name, flavor in held() if not set(path[:-1]).isdisjoint(self._planted.tree.path(name))}
        for flavor in flavors:
            self._stir_for_preemption(path[-1] if flavor in borrowed else path[0], flavor, short_of_room=True)
        return len(self._blocked.stirred) > stirred

    def _stir_for_preemption(self, queue: str, flavor: str, *, short_of_room: bool) -> None:
        """Stir those of a queue, and of those below it, that may preempt in a flavor."""
        if self._is_new((queue, flavor, short_of_room)):
            for name in self._may_preempt_below(queue):
                self._blocked.stir_for_preemption(self.classes_of(name), flavor, short_of_room=short_of_room)

    def _is_new(self, opened: tuple[object, ...]) -> bool:
        """Say whether these were not opened since more was known, and take in that they are."""
        if self._blocked.learned != self._learned:
            self._opened.clear()
            self._learned = self._blocked.learned
        is_new = opened not in self._opened
        self._opened.add(opened)
        return is_new

    def may_be_preempted(self, uids: Iterable[str]) -> None:
        """Stir those who may preempt these pods, and found others in the way in their flavors."""
        charges = filter(None, map(self._usage.charge_of, uids))
        for cluster_queue, flavors in {(one.cluster_queue, one.flavors) for one in charges if one.cluster_queue}:
            if self._planted.tree.strategies(cluster_queue):
                self._share_moved(cluster_queue)
                continue
            for name in self._planted.tree.relatives(cluster_queue) if self._preempting else ():
                policy = self._preempting.get(name, NO_PREEMPTION)
                is_own = name == cluster_queue
                if policy.within is not Within.NEVER if is_own else policy.reclaim is not Reclaim.NEVER:
                    for flavor in flavors:
                        self._blocked.stir_for_preemption(self.classes_of(name), flavor, short_of_room=True)

    def let_go(self, what: LetGo) -> bool:
        """Open whom that concerns what preemptors hold or hold no more, and say whether there is anybody.

        Where others go for somebody, those of the tree that may preempt there find them gone in the next decision: what
        is left beside the demand that is held may be enough if some more go.
        """
        tree = self._planted.tree
        for queue in what.queues:
            if tree.strategies(queue):
                self._hold_ended(queue)
        self.trees_changed(queue for queue in what.queues if not tree.strategies(queue))
        for queue, flavor in what.begun:
            if not tree.strategies(queue):
                self._stir_for_preemption(tree.path(queue)[-1], flavor, short_of_room=True)
        for queue, node in what.claimed:
            if tree.strategies(queue):
                self._share_moved(queue)
                self._blocked.freed.update(() if node is None else (node,))
        # where shares decide it rests on whose lines are up who is looked at first and has a reservation: no end of it
        stirs = not tree.fair_roots or what.rebooked_in_a_row <= _MOST_IN_A_ROW
        stirred = [self._blocked.rebook(uid, nodes, stirs=stirs) for uid, nodes in what.rebooked.items()]
        return bool(what) or any(stirred)

    def _hold_ended(self, queue: str) -> None:
        """Open those of a queue that held something no more, and whom the quota concerns; by shares all are stirred."""
        tree = self._planted.tree
        self._blocked.to_open.update(dict.fromkeys(self._doors.of(queue)))
        flavors = {flavor for flavor, _ in tree.columns(tree.path(queue)[-1])}
        for name in tree.relatives(queue):
            self._blocked.open_for_quota(name, flavors, tree, self._usage)
        self._share_moved(queue)

    def trees_changed(self, cluster_queues: Iterable[str]) -> None:
        """Have all of the trees of these queues opened, of each tree once, however many of its queues these are."""
        tree = self._planted.tree
        for root in dict.fromkeys(tree.path(one)[-1] for one in cluster_queues):
            for name in tree.below(root):
                self._blocked.to_open.update(dict.fromkeys(self._doors.of(name)))
