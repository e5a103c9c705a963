"""Which classes of workloads a decision looks at: all that is not settled, and what room that came free may let in."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final

from controller.core.kubernetes.amounts import Requests
from controller.core.ledgers.ledger import Ledger
from controller.core.workloads.pods import Pod
from controller.core.workloads.workload import WorkloadClass
from controller.core.world.snapshot import Snapshot

_EVERYBODY: Final = "*"
"""In the place of the root of a tree: who goes anyway for somebody makes room for those of other trees too."""
_MOST_COMPARED: Final = 64
"""Of more nodes that came free than this it is taken for granted that one helps."""


@dataclass(frozen=True, slots=True)
class LookedAt:
    """The classes to look at, as keys in an order that equal worlds share: `kinds`, and those that are `stirred`.

    To those in `for_freed_room` nothing is new but room on `snapshot.freed`, beside whom they may preempt there;
    `emptied` says who could be held there at most. For those in `stirred` nothing is new but who may go; to those of
    them that are `near` room on `snapshot.freed` is new too, but is not enough without others going.
    """

    kinds: Mapping[WorkloadClass, object]
    for_freed_room: Collection[WorkloadClass]
    stirred: Mapping[WorkloadClass, object]
    near: Collection[WorkloadClass]
    emptied: Emptied

    def is_settled(self, kind: WorkloadClass) -> bool:
        """Say whether what was said of quota, and of other room, still holds of a class that may preempt."""
        return kind in self.for_freed_room or kind in self.stirred


def looked_at(snapshot: Snapshot, ledger: Ledger) -> LookedAt:
    """Return the classes to look at."""
    return LookedAt(snapshot.runs, (), {}, (), Emptied(snapshot, ledger))


def _queue_of(snapshot: Snapshot, kind: WorkloadClass) -> str:
    """Return the cluster queue of a class; empty: its LocalQueue is gone."""
    local = snapshot.local_queues.get(kind.queue)
    return "" if local is None else local.cluster_queue


def _root_of(snapshot: Snapshot, kind: WorkloadClass) -> str:
    return snapshot.tree.path(_queue_of(snapshot, kind))[-1]


class Emptied:
    """Nodes that came free, as they were without those whom a class may preempt there at most."""

    def __init__(self, snapshot: Snapshot, ledger: Ledger) -> None:
        self._snapshot = snapshot
        self._ledger = ledger
        self._held: dict[str, list[tuple[str, str, Mapping[str, int]]]] = {}
        """By node: of each pod there its queue, the root of the tree that it gives way to, and what it takes."""
        self._keeping: dict[str, AbstractSet[str]] = {}
        """By node the queues that have pods there that give way to nobody else."""
        self._borrowed_by: dict[str, AbstractSet[str]] = {}
        self._is_enough: dict[tuple[str, str, str, Requests], bool] = {}
        """By node, root of the tree, queue if only that one may preempt some there, and what is asked for."""

    def may_hold(self, nodes: Collection[str], kind: WorkloadClass, requests: Requests) -> bool:
        """Say whether one of these nodes may have room for a pod of a class, others being gone."""
        local = self._snapshot.local_queues.get(kind.queue)
        if local is None or len(nodes) > _MOST_COMPARED:
            return True
        return any(self._has(node, local.cluster_queue, requests) for node in nodes)

    def _has(self, node: str, queue: str, requests: Requests) -> bool:
        if node not in self._held:
            held = self._held[node] = list(self._look(node))
            self._keeping[node] = {own for own, gives_to, _ in held if not gives_to}
        root = self._snapshot.tree.path(queue)[-1]
        alone = queue if queue in self._keeping[node] else ""
        key = (node, root, alone, requests)
        known = self._is_enough.get(key)
        if known is None:
            given = (root, _EVERYBODY)
            gone = [amounts for own, gives_to, amounts in self._held[node] if own == alone or gives_to in given]
            known = self._is_enough[key] = all(
                self._ledger.left("node", node, resource) + sum(one.get(resource, 0) for one in gone) >= need
                for resource, need in requests
            )
        return known

    def _borrowed(self, queue: str) -> AbstractSet[str]:
        known = self._borrowed_by.get(queue)
        if known is None:
            known = self._borrowed_by[queue] = self._snapshot.usage.borrowed(queue)
        return known

    def _look(self, node: str) -> Iterator[tuple[str, str, Mapping[str, int]]]:
        """Yield the pods of queues; to others of the tree only those give way whose queue borrows.

        A gang goes as a whole, also where its queue borrows only what others of its members have.
        """
        for uid in self._snapshot.bound.get(node, ()):
            pod = self._snapshot.pods.get(uid)
            if pod is None or not pod.cluster_queue:
                continue
            is_going = pod.is_terminating or uid in self._snapshot.leaving.evicting
            gives_to = _EVERYBODY if is_going else self._gives_to(pod, pod.cluster_queue)
            yield pod.cluster_queue, gives_to, dict(pod.shape.requests)

    def _gives_to(self, pod: Pod, queue: str) -> str:
        borrowed = self._borrowed(queue)
        flavors = borrowed if pod.group is not None else (pod.flavor or "", *pod.also)
        return "" if borrowed.isdisjoint(flavors) else self._snapshot.tree.path(queue)[-1]
