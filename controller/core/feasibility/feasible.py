"""Which classes may fit in what one decision leaves: a necessary test of all of them at once. `place` says who does."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from controller.core.capacity.fitting_pods import FittingPods
from controller.core.capacity.room import Room
from controller.core.feasibility.amount_rows import AmountRows
from controller.core.feasibility.class_rows import ClassRows, Verdict
from controller.core.ledgers.ledger import Ledger
from controller.core.queueing.queues import ClusterQueue, LocalQueue, QueueingStrategy
from controller.core.snapshot import Snapshot
from controller.core.workloads.decisions import Wait
from controller.core.workloads.workload import QueueKey, WorkloadClass

_MOST_COUNTED: Final = 400_000
"""So many shapes are counted anew at a time, each once for each admission since. Of the nodes behind these more is
believed to be free than is: after thousands of admissions the looks that this costs take less than to count."""


@dataclass(frozen=True, slots=True)
class FeasibilityIndex:
    """What the test rests on, of one tree, one set of nodes and flavors, and the classes that wait."""

    amounts: AmountRows
    fitting: FittingPods
    classes: ClassRows
    lines: Mapping[QueueKey, Sequence[WorkloadClass]]
    """By LocalQueue its classes in the order of their heads."""
    may_hear_more: frozenset[str]
    """Queues in which more than an admission may come of a look at a class."""
    closed: dict[str, Wait | None] = field(default_factory=dict)
    """What is known of queues that admit nobody, by the objects alone (`decision.admission_checks`)."""


def index_of(snapshot: Snapshot) -> FeasibilityIndex:
    """Build the index of a snapshot from nothing."""
    queues, nodes, runs = snapshot.queues, snapshot.nodes, snapshot.waiting.runs
    room = nodes.room or Room(nodes.index, nodes.used)
    amounts, fitting = AmountRows(queues.tree, queues.flavors), FittingPods(nodes.index, room.free)
    queue_of = partial(cluster_queue_of, queues.cluster_queues, queues.local_queues)
    classes = ClassRows(amounts.row_of, queues.flavors, fitting, queue_of, queues.tree.resources)
    classes.put(runs)
    lines: dict[QueueKey, list[WorkloadClass]] = {}
    for kind in sorted(runs, key=lambda one: runs[one][0].order):
        lines.setdefault(kind.queue, []).append(kind)
    return FeasibilityIndex(amounts, fitting, classes, lines, may_hear_more(queues.cluster_queues))


def cluster_queue_of(
    queues: Mapping[str, ClusterQueue], local_queues: Mapping[QueueKey, LocalQueue], kind: WorkloadClass
) -> ClusterQueue | None:
    """Return the ClusterQueue that a class waits for; None: it has none, or a queue that does not exist."""
    local = local_queues.get(kind.queue)
    return None if local is None else queues.get(local.cluster_queue)


def may_hear_more(queues: Mapping[str, ClusterQueue]) -> frozenset[str]:
    """Return the queues in which more than an admission may come of a look at a class."""
    return frozenset(
        name
        for name, one in queues.items()
        if one.strategy is not QueueingStrategy.BEST_EFFORT_FIFO or one.preemption.is_any
    )


class Feasible:
    """The classes of one decision that may fit in what its ledger leaves, as of the last `refresh`."""

    def __init__(self, snapshot: Snapshot, index: FeasibilityIndex, ledger: Ledger) -> None:
        self._index = index
        self._ledger = ledger
        self._used = index.amounts.used(snapshot.usage.in_tree)
        self._fitting = index.fitting.fork(ledger.free)
        self._taken_in = 0
        self.classes: Collection[WorkloadClass] = ()
        self.refresh()

    def refresh(self) -> None:
        """Take in what the ledger spent since: `classes` are those that may still fit."""
        most = max(1, _MOST_COUNTED // max(1, self._fitting.most_shapes))
        occupied = self._ledger.occupied_nodes[self._taken_in : self._taken_in + most]
        self._fitting.update(occupied)
        self._taken_in += len(occupied)
        rows = self._index.classes
        verdicts = rows.verdicts(self._index.amounts.available(self._used, self._ledger), self._fitting)
        self.classes = dict.fromkeys(rows.having(verdicts, Verdict.FEASIBLE))
