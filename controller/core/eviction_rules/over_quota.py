"""What a cluster queue uses beyond what it may, and who goes for it where the queue takes that back.

A quota or limit that falls below its usage evicts nobody by itself: the queue has to say so, by `reclaimOverQuota` or a
window's `onClose: Drain`. Then as many go as are too much, and no more.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from heapq import merge
from itertools import takewhile
from typing import NamedTuple

from controller.core.candidates.candidate import Candidate, candidate_rank
from controller.core.evictions.lost_pods import cannot_tell
from controller.core.evictions.returns import Returns
from controller.core.kubernetes.amounts import format_amount
from controller.core.preemption.eligibility import Candidates
from controller.core.queueing.queues import ClusterQueue
from controller.core.quota.quota_tree import Column, QuotaTree
from controller.core.quota.tree_usage import TreeUsage
from controller.core.snapshot import Snapshot
from controller.core.workloads.decisions import Evict, EvictionCause
from controller.core.workloads.pods import Pod


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
    those = [one for one in snapshot.queues.cluster_queues.values() if one.takes_back_by]
    over = [one for one in those if excesses(snapshot.queues.tree, snapshot.usage.in_tree, one.name)]
    sound = [one for one in over if _is_sound(snapshot, one.name)]
    if sound:
        yield from _TakingBack(snapshot, returns, going, sound).evictions()


def _is_sound(snapshot: Snapshot, queue: str) -> bool:
    """Whether what it may use is what people mean: not while its tree lacks a queue, or a flavor that it is a share of.

    A slip of the pen in another queue must not cost running pods. Which tree a queue is of that cannot be read is not
    known, so it stops all of them.
    """
    tree = snapshot.queues.tree
    relatives = tree.relatives(queue)
    if not tree.faults.keys().isdisjoint(relatives) or (snapshot.queues.faulty and len(relatives) > 1):
        return False
    return all(flavor in snapshot.queues.flavors for name in tree.below(queue) for flavor in tree.flavors(name))


class _TakingBack:
    """Usage while some queues take back what is too much; who goes anyway is gone from it."""

    def __init__(
        self, snapshot: Snapshot, returns: Returns, going: Collection[str], queues: Iterable[ClusterQueue]
    ) -> None:
        self._snapshot = snapshot
        self._tree = snapshot.queues.tree
        self._told_by = returns
        # those that are taken count at once: they may be of one Job, with few retries left
        self._returns = snapshot.returns()
        # who is too much in a part of the tree is so in the whole of it, too
        self._queues = sorted(queues, key=lambda one: (self._tree.height(one.name), one.name))
        self._usage = TreeUsage(snapshot.queues.tree, snapshot.usage.in_tree)
        self._candidates = Candidates(snapshot, self._returns)
        self._going = {uid: snapshot.running.pods[uid] for uid in going if snapshot.running.pods[uid].cluster_queue}
        for pod in self._going.values():
            self._returns.take(pod)
        below = {name for queue in self._queues for name in self._tree.below(queue.name)}
        charged, pods = snapshot.usage.charged, snapshot.running.pods
        admitted = (pods[uid] for name in sorted(below) for uid in charged.get(name, ()))
        self._going.update((pod.uid, pod) for pod in admitted if self._goes(pod) and not pod.is_job)
        for pod in self._going.values():
            self._charge(pod.cluster_queue or "", [pod], -1)
        self._taken: dict[str, Candidate] = {}
        """By key."""

    def _goes(self, pod: Pod) -> bool:
        """Whether it is soon too much no more, so that nobody has to go in its place, however long it takes.

        Kubernetes deletes what is on a node that died; and nobody pays for whom a PodDisruptionBudget keeps.
        """
        if not pod.cluster_queue:
            return False
        node = self._snapshot.nodes.index.nodes.get(pod.node or "")
        is_on_dead_node = pod.node is not None and cannot_tell(node)
        return is_on_dead_node or pod.is_terminating or pod.uid in self._snapshot.running.leaving.evicting

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
            whys = ((pod, self._told_by.verdict(pod, one.queue).why) for pod in one.to_evict)
            yield tuple(Evict(pod, EvictionCause.OVER_QUOTA, f"{texts[key]}; {why}", one.together) for pod, why in whys)

    def _take(self, queue: str, over: Sequence[Excess]) -> list[str]:
        """Take away as many as are enough, lower priorities first and of equal ones who was admitted last."""
        keys: list[str] = []
        # a limit is of all who are below, but who borrows goes first, or would be asked for it by the others
        for spares_own in (True, False):
            for one in self._in_order(queue):
                if not over or self._are_enough():
                    return keys
                if self._helps(one, queue, over, spares_own=spares_own) and self._may_go(one):
                    self._charge(one.queue, one.pods, -1)
                    self._taken[one.key] = one
                    keys.append(one.key)
                    over = excesses(self._tree, self._usage, queue)
        return keys

    def _are_enough(self) -> bool:
        """Whether no more may be evicted at once."""
        return sum(len(one.to_evict) for one in self._taken.values()) >= self._snapshot.running.leaving.evictions_left

    def _spare(self) -> None:
        """Let those stay without whom it is no worse, the last first: a large one may have gone after small ones."""
        left = self._too_much()
        for one in reversed(list(self._taken.values())):
            self._charge(one.queue, one.pods, 1)
            if self._too_much() == left:
                del self._taken[one.key]
            else:
                self._charge(one.queue, one.pods, -1)

    def _too_much(self) -> list[list[Excess]]:
        return [excesses(self._tree, self._usage, one.name) for one in self._queues]

    def _in_order(self, queue: str) -> Iterator[Candidate]:
        # also of flavors that a queue has no more
        queues, flavors = self._tree.below(queue), self._snapshot.queues.flavors
        lines = (self._candidates.of(name, flavor) for name in queues for flavor in flavors)
        seen = set(self._taken)
        for one in merge(*lines, key=lambda one: candidate_rank(one, "")):
            # of several flavors it stands in several lines
            if one.key not in seen and self._going.keys().isdisjoint(pod.uid for pod in one.pods):
                seen.add(one.key)
                yield one

    def _helps(self, one: Candidate, queue: str, over: Iterable[Excess], *, spares_own: bool) -> bool:
        """Whether it has any of what is too much, where that is more than is its own queue's, and of those between.

        Of a limit also where it is not, unless `spares_own`.
        """
        between = list(takewhile(lambda name: name != queue, self._tree.path(one.queue)))
        for flavor, resource, *_ in over:
            columns = [column for column in one.columns if column[1] == resource and flavor in (column[0], "")]
            if columns and not flavor and not spares_own:
                return True
            if any(all(self._is_beyond(name, column) for name in between) for column in columns):
                return True
        return False

    def _is_beyond(self, queue: str, column: Column) -> bool:
        """Whether a queue uses more of a column than is its own; where it has none of it, all of it is others'."""
        return self._tree.cell(queue, column) is None or self._usage.beyond(queue, column) > 0

    def _may_go(self, one: Candidate) -> bool:
        """Whether all of it may be returned beside the others; they are taken note of."""
        if not self._returns.may_all_go([(pod, one.queue) for pod in one.to_evict]):
            return False
        for pod in one.to_evict:
            self._returns.take(pod)
        return True

    def _charge(self, queue: str, pods: Iterable[Pod], times: int) -> None:
        """Charge pods to their queue again, or with -1 take them off it."""
        for pod in pods:
            for flavor in (pod.flavor or "", *pod.also):
                for resource, amount in pod.shape.requests:
                    self._usage.add(queue, flavor, resource, times * amount, is_only_held=flavor != pod.flavor)
