"""What those leave who go for others, and who waits for no more than that: for it nobody goes.

Where shares decide it keeps that as those do who have begun to preempt. Which line has the turn rests there on who is
the first in each that can go in; most of these are settled, and a decision that looks at few would find others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from controller.core.decisions import Wait
from controller.core.heads import Heads
from controller.core.looked_at import LookedAt
from controller.core.placement import Placements
from controller.core.placing import Placing
from controller.core.preempting import Preempting
from controller.core.queues import ClusterQueue
from controller.core.snapshot import Snapshot
from controller.core.workloads import Workload


class Leftovers:
    """Those of one decision."""

    def __init__(
        self,
        snapshot: Snapshot,
        heads: Heads,
        placing: Placing,
        preempting: Preempting,
        looked_at: LookedAt,
    ) -> None:
        self._snapshot = snapshot
        self._heads = heads
        self._placing = placing
        self._preempting = preempting
        self._stirred = looked_at.stirred
        """These are lined up only when those have had their turn who have begun."""

    def are_lost(
        self, queue: ClusterQueue, own: Workload, found: Placements | Wait, firsts: Iterable[Workload]
    ) -> bool:
        """Say whether one that has begun waits for no more than this, and does not get it.

        `found` is what a look at it said, `firsts` are those of the classes in its line. What one of these could have
        that comes before it is not kept for it.
        """
        if self._snapshot.preemptors[own.uid]:
            return False
        ahead = self._heads.before(own, (*firsts, *self._stirred_of(queue.name)))
        return not self._may_have(queue, own, found) or any(
            self._may_have(queue, one, self._placing.find(queue, one, None)) for one in ahead
        )

    def _stirred_of(self, name: str) -> Iterator[Workload]:
        for kind in self._stirred:
            local = self._snapshot.local_queues.get(kind.queue)
            if local is not None and local.cluster_queue == name:
                yield self._snapshot.runs[kind][0]

    def _may_have(self, queue: ClusterQueue, workload: Workload, found: Placements | Wait) -> bool:
        """Whether there is room for it, or will be."""
        left = self._placing.left(queue, workload.kind)
        return not isinstance(found, Wait) or self._preempting.are_leftovers_enough(queue, workload, found, left)
