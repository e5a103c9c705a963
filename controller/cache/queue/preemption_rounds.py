"""In which trees the next decision looks for pods to preempt: a few at a time, each of them as a whole.

Pods are preempted only for workloads of the same tree, so within a tree the order of workloads holds. Trees in which a
pod or a workload moved come first. That is all that their order rests on: after any change there is a round over all.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from math import inf
from typing import Final

from controller.cache.queue.pauses import Pause
from controller.core.queueing.queues import ClusterQueue, LocalQueue
from controller.core.quota.quota_tree import QuotaTree
from controller.core.workloads.charges import Charge
from controller.core.workloads.pods import Pod
from controller.core.workloads.workload import QueueKey

PORTION: Final = 64
"""So many waiting classes in queues that preempt are looked at in a decision, and those of one tree in any case."""

_CountClasses = Callable[[str], int]
"""Says how many classes wait for a ClusterQueue."""


def queues_moved(
    pod: Pod | None, local_queues: Mapping[QueueKey, LocalQueue], *charges: Charge | None
) -> Iterator[str]:
    """Yield the ClusterQueues in which something changed with a pod: it waits for one, or is charged there."""
    local = None if pod is None else local_queues.get((pod.namespace, pod.queue or ""))
    if local is not None:
        yield local.cluster_queue
    yield from (charge.cluster_queue for charge in charges if charge is not None)


class PreemptionRounds:
    """`portion` is that of the next decision: roots of trees."""

    def __init__(self) -> None:
        self._queues_of: dict[str, list[str]] = {}
        """By root of a tree the queues that preempt."""
        self._tree: QuotaTree | None = None
        self._moved: set[str] = set()
        self._first: dict[str, None] = {}
        self._round: dict[str, None] = {}
        self._has_changed = True
        self._pause = Pause()
        self._portion: dict[str, None] = {}

    @property
    def portion(self) -> Collection[str]:
        """The roots of the trees to look in."""
        return self._portion

    def moved(self, queues: Iterable[str]) -> None:
        """Take in that a pod or a workload of these ClusterQueues came, went or changed."""
        self._moved.update(queues)

    def changed(self) -> None:
        """Take in that something changed: in any tree others may be preempted now."""
        self._has_changed = True

    def begin_anew(self) -> None:
        """Begin a round over all trees at once."""
        self._has_changed = True
        self._pause.end()
        self._round.clear()

    def advance(
        self,
        now: float,
        tree: QuotaTree,
        queues: Mapping[str, ClusterQueue],
        count: _CountClasses,
        preempting: Iterable[str] = (),
    ) -> None:
        """Let it be this time, epoch seconds, and these the ClusterQueues: fill the portion up.

        Workloads of those `preempting` wait for others to go: their trees are looked in each time, or who waits for
        what these leave would be another one from decision to decision.
        """
        self._take_in(tree, queues)
        self._portion.update(dict.fromkeys(filter(None, map(self._root_of, preempting))))
        is_paused, begins = self._pause.is_on(now), self._has_changed and not self._round
        if not is_paused and begins:
            self._round, self._has_changed = dict.fromkeys(self._queues_of), False
        counted = sum(self._size(root, count) for root in self._portion)
        counted = self._fill(self._first, counted, PORTION // 2, count)
        if not is_paused:
            # what moved comes first: where that is a whole portion, a round begins after the pause
            if not begins or counted < PORTION:
                self._fill(self._round, counted, PORTION, count)
            self._pause.end()
            if self._round:
                self._pause.begin(now)

    def next_change(self, now: float) -> float:
        """Return when a decision is to look in more trees, epoch seconds; infinite: it did in all."""
        if self._first or any(map(self._root_of, self._moved)):
            return now
        return self._pause.over_at(now) if self._round or (self._has_changed and self._queues_of) else inf

    def looked(self, *, is_complete: bool) -> None:
        """Take in that a decision looked; one that ended early has not come to all of the portion."""
        if is_complete:
            self._portion.clear()

    def _take_in(self, tree: QuotaTree, queues: Mapping[str, ClusterQueue]) -> None:
        if tree is not self._tree:
            self._tree, self._queues_of = tree, {}
            for name, queue in queues.items():
                if queue.preemption.is_any:
                    self._queues_of.setdefault(tree.path(name)[-1], []).append(name)
            for roots in (self._first, self._round, self._portion):
                for root in roots.keys() - self._queues_of.keys():
                    del roots[root]
        self._first.update(dict.fromkeys(filter(None, map(self._root_of, sorted(self._moved)))))
        self._moved.clear()

    def _root_of(self, queue: str) -> str | None:
        """Return the root of a queue's tree; None: no queue preempts there."""
        root = queue if self._tree is None else self._tree.path(queue)[-1]
        return root if root in self._queues_of else None

    def _fill(self, roots: dict[str, None], counted: int, most: int, count: _CountClasses) -> int:
        """Take trees until so many classes are looked at, one in any case; return how many are."""
        is_any = False
        while roots and (counted < most or not is_any):
            root = next(iter(roots))
            if root not in self._portion:
                counted, is_any = counted + self._size(root, count), True
                self._portion[root] = None
            self._first.pop(root, None)
            self._round.pop(root, None)
        return counted

    def _size(self, root: str, count: _CountClasses) -> int:
        return sum(map(count, self._queues_of.get(root, ())))
