"""What a cluster queue uses beyond what it may, and who goes for it where the queue takes that back.

A quota or limit that falls below its usage evicts nobody by itself: the queue has to say so, by `reclaimOverQuota` or a
window's `onClose: Drain`. Then as many go as are too much, and no more.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from heapq import merge
from itertools import chain, takewhile
from typing import NamedTuple

from controller.core.amounts import format_amount
from controller.core.candidates import Candidate, standing
from controller.core.decisions import Evict, EvictionCause
from controller.core.pods import Pod
from controller.core.preemption import Candidates
from controller.core.queues import ClusterQueue
from controller.core.quota_tree import QuotaTree
from controller.core.returns import Returns
from controller.core.snapshot import Snapshot
from controller.core.tree_usage import TreeUsage


class Excess(NamedTuple):
    """What a queue and those below it use of a resource, and the most that they may; `flavor` empty: a limit's."""

    flavor: str
    resource: str
    used: int
    most: int

    @property
    def text(self) -> str:
        """What people read, such as `flavor spot: 8 of 4 cpu`."""
        where = f"flavor {self.flavor}" if self.flavor else "limit"
        amounts = (format_amount(self.resource, amount) for amount in (self.used, self.most))
        return f"{where}: {' of '.join(amounts)} {self.resource}"


def excesses(tree: QuotaTree, usage: TreeUsage, queue: str) -> list[Excess]:
    """Return all of which a queue uses more than it may: of its quotas, borrowing counted in, and of its limits."""
    cells, limits = tree.cells(queue).items(), tree.limits(queue).items()
    found = [
        Excess(flavor, resource, usage.used(queue, flavor, resource), cell.potential)
        for (flavor, resource), cell in cells
    ]
    found += [Excess("", resource, usage.used(queue, "", resource), most) for resource, most in limits]
    return [one for one in found if one.used > one.most]


def over_quota_evictions(snapshot: Snapshot, returns: Returns, going: Collection[str]) -> Iterator[tuple[Evict, ...]]:
    """Say who is too much in the queues that take that back; a gang as a whole.

    `going` are the uids of who is evicted for another reason.
    """
    those = [one for one in snapshot.cluster_queues.values() if one.takes_back_by]
    over = [one for one in those if excesses(snapshot.tree, snapshot.usage, one.name)]
    if over:
        yield from _TakingBack(snapshot, returns, going, over).evictions()


class _TakingBack:
    """Usage while some queues take back what is too much; who goes anyway is gone from it."""

    def __init__(
        self, snapshot: Snapshot, returns: Returns, going: Collection[str], queues: Iterable[ClusterQueue]
    ) -> None:
        self._snapshot = snapshot
        self._tree = snapshot.tree
        self._returns = returns
        # who is too much in a part of the tree is so in the whole of it, too
        self._queues = sorted(queues, key=lambda one: (self._tree.height(one.name), one.name))
        self._usage = TreeUsage(snapshot.tree, snapshot.usage)
        self._candidates = Candidates(snapshot, returns)
        self._going = {pod.uid: pod for pods in self._candidates.going.values() for pod in pods}
        # who takes long to go is soon too much no more either, so nobody goes in its place
        late = (uid for uid in snapshot.leaving.stuck if uid in snapshot.pods)
        stuck = (uid for uid in late if uid in snapshot.admitted.get(snapshot.pods[uid].cluster_queue or "", ()))
        self._going.update((uid, snapshot.pods[uid]) for uid in chain(going, stuck))
        for pod in self._going.values():
            self._charge(pod.cluster_queue or "", pod, -1)
        self._taken: dict[str, Candidate] = {}
        """By key."""

    def evictions(self) -> Iterator[tuple[Evict, ...]]:
        """Yield who has to go so that the queues use no more than they may, or as little more as can be."""
        texts: dict[str, str] = {}
        for queue in self._queues:
            over = excesses(self._tree, self._usage, queue.name)
            said = ", ".join(one.text for one in over)
            text = f"ClusterQueue {queue.name} uses more than it may ({queue.takes_back_by}): {said}"
            texts.update(dict.fromkeys(self._take(queue.name, over), text))
        self._spare()
        for key, one in self._taken.items():
            whys = ((pod, self._returns.verdict(pod, one.queue).why) for pod in one.to_evict)
            yield tuple(Evict(pod, EvictionCause.OVER_QUOTA, f"{texts[key]}; {why}", one.together) for pod, why in whys)

    def _take(self, queue: str, over: Sequence[Excess]) -> list[str]:
        """Take away as many as are enough, lower priorities first and of equal ones who was admitted last."""
        keys: list[str] = []
        for one in self._in_order(queue):
            if not over or self._are_enough():
                break
            if self._helps(one, queue, over) and self._may_go(one):
                self._remove(one)
                self._taken[one.key] = one
                keys.append(one.key)
                over = excesses(self._tree, self._usage, queue)
        return keys

    def _are_enough(self) -> bool:
        """Whether no more may be evicted at once."""
        return sum(len(one.to_evict) for one in self._taken.values()) >= self._snapshot.leaving.evictions_left

    def _spare(self) -> None:
        """Let those stay without whom it is no worse, the last first: a large one may have gone after small ones."""
        left = self._too_much()
        for one in reversed(list(self._taken.values())):
            self._put_back(one)
            if self._too_much() == left:
                del self._taken[one.key]
            else:
                self._remove(one)

    def _too_much(self) -> list[list[Excess]]:
        return [excesses(self._tree, self._usage, one.name) for one in self._queues]

    def _in_order(self, queue: str) -> Iterator[Candidate]:
        lines = (self._line(name) for name in self._tree.below(queue))
        seen = set(self._taken)
        for one in merge(*lines, key=lambda one: standing(one, "")):
            # of several flavors it stands in several lines
            if one.key not in seen and self._going.keys().isdisjoint(pod.uid for pod in one.pods):
                seen.add(one.key)
                yield one

    def _line(self, queue: str) -> Iterable[Candidate]:
        lines = (self._candidates.of(queue, flavor) for flavor in self._tree.flavors(queue))
        return merge(*lines, key=lambda one: standing(one, ""))

    def _helps(self, one: Candidate, queue: str, over: Iterable[Excess]) -> bool:
        """Whether it has any of what is too much, where that is more than is its own queue's, and of those between."""
        between = list(takewhile(lambda name: name != queue, self._tree.path(one.queue)))
        for flavor, resource, *_ in over:
            column = (flavor, resource)
            if not flavor and any(of == resource for _, of in one.held):
                return True
            if column in one.columns and all(self._usage.beyond(name, column) > 0 for name in between):
                return True
        return False

    def _may_go(self, one: Candidate) -> bool:
        """Whether it may be returned beside the others: they may be of one Job, with few retries left."""
        return self._returns.may_all_go([(pod, it.queue) for it in (*self._taken.values(), one) for pod in it.to_evict])

    def _remove(self, one: Candidate) -> None:
        for pod in one.pods:
            self._charge(one.queue, pod, -1)

    def _put_back(self, one: Candidate) -> None:
        for pod in one.pods:
            self._charge(one.queue, pod, 1)

    def _charge(self, queue: str, pod: Pod, times: int) -> None:
        for flavor in (pod.flavor or "", *pod.also):
            for resource, amount in pod.shape.requests:
                self._usage.add(queue, flavor, resource, times * amount, is_only_held=flavor != pod.flavor)
