"""The index of what may fit (`core.feasibility`), kept up as classes, pods, nodes and quotas change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Final

from controller.cache.index.queue_windows import WINDOW, QueueWindows
from controller.cache.parts import PART
from controller.core.capacity.fitting_pods import FittingPods
from controller.core.capacity.node_index import NodeIndex
from controller.core.capacity.room import Room
from controller.core.feasibility.amount_rows import AmountRows
from controller.core.feasibility.class_rows import ClassRows
from controller.core.feasibility.feasible import FeasibilityIndex, cluster_queue_of, may_hear_more
from controller.core.queueing.queues import ClusterQueue, Flavor, LocalQueue
from controller.core.quota.quota_tree import QuotaTree
from controller.core.workloads.workload import QueueKey, Workload, WorkloadClass

_SPARE_SHAPES: Final = 1_000
"""So many shapes that nobody asks for any more are counted on, and as many as there are classes."""


@dataclass(frozen=True, slots=True)
class IndexInputs:
    """What the index is of, as it is now."""

    tree: QuotaTree
    nodes: NodeIndex
    room: Room
    flavors: Mapping[str, Flavor]


class KeptIndex:
    """`catch_up` has to be gone through before `index` is read."""

    def __init__(
        self,
        runs: Mapping[WorkloadClass, Sequence[Workload]],
        queues: Mapping[str, ClusterQueue],
        local_queues: Mapping[QueueKey, LocalQueue],
    ) -> None:
        """All are the cache's own, and only read."""
        self._queues = queues
        self._local_queues = local_queues
        self._windows = QueueWindows(runs, size=WINDOW)
        self._inside: dict[WorkloadClass, None] = {}
        self._coming: dict[WorkloadClass, None] = {}
        """Those inside of which there are no rows yet."""
        self._going: dict[WorkloadClass, None] = {}
        """Those of which there are rows, and that are inside no more."""
        self._moved_nodes: set[str] = set()
        self._world: IndexInputs | None = None
        self._given: object = None
        self._has_other_doors = False
        self._index: FeasibilityIndex | None = None

    @property
    def index(self) -> FeasibilityIndex | None:
        """The index; None before it was brought up for the first time."""
        return self._index

    def class_came(self, kind: WorkloadClass) -> None:
        """Take in that workloads of a class wait now."""
        if self._windows.add(kind):
            self._enter(kind)

    def class_left(self, kind: WorkloadClass) -> None:
        """Take in that no workload of a class waits any more."""
        if self._windows.remove(kind):
            self._leave(kind)

    def head_moved(self, kind: WorkloadClass) -> None:
        """Take in that another workload of a class may be its head now, or its head have another place."""
        self._windows.head_moved(kind)

    def local_queues_changed(self) -> None:
        """Take in that LocalQueues came, went or lead elsewhere."""
        self._has_other_doors = True

    def nodes_moved(self, nodes: Iterable[str]) -> None:
        """Take in that pods take more or less on these nodes."""
        self._moved_nodes.update(nodes)

    def catch_up(self, world: IndexInputs) -> Iterator[None]:
        """Bring the index up to date with the world, in parts, as this is gone through."""
        self._fill_windows()
        self._index = index = self._renewed(world)
        index.classes.drop(self._going)
        self._going.clear()
        while self._coming:
            part = list(islice(self._coming, PART))
            for kind in part:
                del self._coming[kind]
            index.classes.put(part)
            yield

    def _enter(self, kind: WorkloadClass) -> None:
        self._inside[kind] = None
        if self._going.pop(kind, self) is self:
            self._coming[kind] = None

    def _leave(self, kind: WorkloadClass) -> None:
        del self._inside[kind]
        if self._coming.pop(kind, self) is self:
            self._going[kind] = None

    def _fill_windows(self) -> None:
        entering, leaving = self._windows.fill()
        for kind in leaving:
            self._leave(kind)
        for kind in entering:
            self._enter(kind)

    def _renewed(self, world: IndexInputs) -> FeasibilityIndex:
        """Return the index with all made anew that rests on objects that are others now."""
        former, index, self._world = self._world, self._index, world
        moved, self._moved_nodes = self._moved_nodes, set()
        if former is None or index is None or former.nodes is not world.nodes or self._counts_too_many(index):
            return self._built(world, FittingPods(world.nodes, world.room.free))
        index.fitting.update(moved)
        if former.tree is world.tree and not self._has_other_doors:
            return index
        given, self._has_other_doors = self._what_is_given(), False
        amounts = AmountRows(world.tree, world.flavors)
        if amounts.row_of != index.amounts.row_of or given != self._given:
            return self._built(world, index.fitting)
        return FeasibilityIndex(amounts, index.fitting, index.classes, self._windows.lines, may_hear_more(self._queues))

    def _built(self, world: IndexInputs, fitting: FittingPods) -> FeasibilityIndex:
        amounts = AmountRows(world.tree, world.flavors)
        queue_of = partial(cluster_queue_of, self._queues, self._local_queues)
        classes = ClassRows(amounts.row_of, dict(world.flavors), fitting, queue_of, world.tree.resources)
        self._given = self._what_is_given()
        self._coming, self._going = dict(self._inside), {}
        return FeasibilityIndex(amounts, fitting, classes, self._windows.lines, may_hear_more(self._queues))

    def _counts_too_many(self, index: FeasibilityIndex) -> bool:
        return index.fitting.most_shapes > 2 * len(self._inside) + _SPARE_SHAPES

    def _what_is_given(self) -> object:
        """Return on what of the queues the rows of a class rest: which flavors and resources each of them gives."""
        given = {
            name: tuple((one.flavor, frozenset(one.nominal)) for one in queue.flavors)
            for name, queue in self._queues.items()
        }
        return given, {key: local.cluster_queue for key, local in self._local_queues.items()}
