"""Pods of one class that stand one after the other in the order of all, a Job's mostly: admitted together."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from controller.core.decision.admissions import Admissions
from controller.core.decision.owners import Owners
from controller.core.decision.placing import Placing
from controller.core.fitting.placement import Placement
from controller.core.queueing.queues import ClusterQueue
from controller.core.quota.user_limits import UserUsage
from controller.core.snapshot import Snapshot
from controller.core.turns.fair_turns import FairTurns
from controller.core.turns.heads import Head, Heads
from controller.core.turns.nominations import Turn
from controller.core.turns.nominees import taken_by
from controller.core.workloads.workload import Workload, WorkloadClass


class Ahead(NamedTuple):
    """Who may come before the next of a stretch: the other heads of its line, and the turns of other lines; heaps."""

    heads: Sequence[Head]
    turns: Sequence[Turn]


class Stretches:
    """Those of one decision, which admits at most `limit` workloads."""

    def __init__(
        self,
        snapshot: Snapshot,
        placing: Placing,
        owners: Owners,
        heads: Heads,
        admitted: Admissions,
        users: UserUsage,
        fair: FairTurns | None,
        *,
        limit: int,
    ) -> None:
        self._snapshot = snapshot
        self._placing = placing
        self._owners = owners
        self._heads = heads
        self._admitted = admitted
        self._users = users
        self._fair = fair
        self._limit = limit

    def admit(
        self, queue: ClusterQueue, run: Sequence[Workload], index: int, first: Placement, ahead: Ahead
    ) -> list[str | None]:
        """Admit those too that are next in the order anyway, where the one before them went; return their nodes.

        Jobs make many pods at once. The flavors before this one had nothing for the last one, so they have nothing for
        these. All else is left to the next turn.
        """
        kind, flavor = run[0].kind, first.flavor
        if not kind.is_free or not queue.takes_first_flavor or index == len(run) or self._is_touchy(queue, kind):
            return []
        if not self._is_next(queue.name, run, index, ahead):
            return []
        left, shape = self._placing.left(queue, kind), kind.pod_sets[0].shape
        most = min(self._limit - len(self._admitted.made), left.lasts_for(queue, flavor, shape.requests))
        most = min(most, self._owners.lasts(queue, flavor, shape.requests))
        in_order = self._heads.in_order(run, index, most)
        count = bisect_left(in_order, True, key=lambda at: not self._is_next(queue.name, run, at, ahead))
        if self._fair is not None:
            turns = partial(self._turn_at, queue.name, run, index)
            count = self._fair.lasts(queue.name, taken_by(kind, (first,)), count, turns)
        nodes: Sequence[str | None] = (None,) * count
        if not flavor.is_summed:
            nodes = left.find_nodes(flavor, shape, count) if count else ()
        if self._fair is not None:
            nodes = nodes[: self._fair.lasts_on((first.node, *nodes), shape.requests) - 1]
        # fewer nodes where room ends
        self._admitted.admit_alike(run[index : index + len(nodes)], queue, flavor, nodes, left)
        return list(nodes)

    def end(self) -> None:
        """Let go of what refers back to the decision: such a circle would stay in memory for long."""
        self._fair = None

    def _is_touchy(self, queue: ClusterQueue, kind: WorkloadClass) -> bool:
        """Whether an admission may change more for the next of its class than quota and room."""
        return self._users.is_limiting(queue.name) or kind.queue in self._snapshot.usage.past

    def _turn_at(self, name: str, run: Sequence[Workload], index: int, number: int) -> Turn:
        """Return the turn of a line once so many of a run's next workloads have gone."""
        return self._heads.turn(name, self._heads.of(run, index + number))

    def _is_next(self, name: str, run: Sequence[Workload], index: int, ahead: Ahead) -> bool:
        """Whether a workload of the line that is looked at comes before all heads, its own line's and the others'."""
        head = self._heads.of(run, index)
        if ahead.heads and ahead.heads[0] < head:
            return False
        return not (ahead.turns and ahead.turns[0] < self._heads.turn(name, head))
