"""Whether a search is in vain because one before it was: nobody was found, and nothing is new to it that would help.

That is told where shares decide, and by less than a search would take (`prospects`). It is kept of settled classes, and
of those that are looked at each time, beside their being pending: these are placed anew, but not searched for anew.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Set as AbstractSet

from controller.core.fitting.unlike_sets import UnlikeSets
from controller.core.ledgers.booked import AnyLedger
from controller.core.ledgers.looked_at import LookedAt
from controller.core.preemption.claims import claims, contested_flavors, ways
from controller.core.preemption.victim_search import VictimSearch
from controller.core.queueing.queues import ClusterQueue
from controller.core.reasons import Reason
from controller.core.workloads.decisions import Reserved, Wait
from controller.core.workloads.workload import Workload, WorkloadClass
from controller.core.world.settled import HOPELESS, contested
from controller.core.world.snapshot import Snapshot


class NobodyBefore:
    """Of one decision."""

    def __init__(self, snapshot: Snapshot, looked_at: LookedAt, search: VictimSearch, unlike: UnlikeSets) -> None:
        self._snapshot = snapshot
        self._looked_at = looked_at
        self._search = search
        self._unlike = unlike
        self._doubtful: set[WorkloadClass] = set()
        """Classes for which nobody was found before, and somebody may go by now."""
        self._of_several: set[str] | None = None
        """The roots of the trees in which somebody holds something of several flavors."""

    def is_so_still(self, queue: ClusterQueue, workload: Workload, left: AnyLedger, wait: Wait | None) -> bool:
        """Say whether nobody is found for a workload; `wait`: why it waits now, where that may be another reason."""
        kind, settled, tree = workload.kind, self._snapshot.settled, self._snapshot.tree
        known = None if settled is None else settled.waits.get(kind)
        if known is None or kind in self._doubtful or not tree.strategies(queue.name):
            return False
        if self._may_leave_several(queue):
            return False
        if workload.uid != self._snapshot.runs[kind][0].uid:
            return False  # it was said of the first
        nodes: Collection[str] = self._roomier(kind)
        if self.is_pending(kind):
            if wait is None or not _in_the_way(wait) <= _in_the_way(known):
                self._doubtful.add(kind)
                return False
            known, nodes = wait, self._search.roomier(queue, kind, left, nodes)
        if self._may_help(queue, workload, known, left, nodes):
            self._doubtful.add(kind)
            return False
        return True

    def is_pending(self, kind: WorkloadClass) -> bool:
        """Say whether a class is looked at each time, whatever was said of it."""
        settled = self._snapshot.settled
        return settled is not None and kind in settled.pending

    def _may_help(
        self, queue: ClusterQueue, workload: Workload, wait: Wait, left: AnyLedger, nodes: Collection[str]
    ) -> bool:
        """Whether anybody may go who would help, where there may be more room on these nodes alone."""
        kind = workload.kind
        if len(kind.pod_sets) > 1:
            for claim, onto in claims(self._search.candidates, queue, workload, ways(self._unlike, queue, kind, wait)):
                if self._search.may_help(claim, kind, onto, left, is_by_room=False, nodes=nodes):
                    return True
            return False
        by_quota = {one.flavor for one in wait.blockers if one.reason is not Reason.NO_CAPACITY}
        by_room = set[str]() if "" in by_quota else contested(wait) - by_quota
        flavors = [
            one
            for one in contested_flavors(queue, wait)
            if one not in by_room or not self._search.is_untouched(queue, kind, one, nodes)
        ]
        asked = claims(self._search.candidates, queue, workload, [(flavor,) for flavor in flavors]) if flavors else ()
        for claim, onto in asked:
            if self._search.may_help(claim, kind, onto, left, is_by_room=onto[0] in by_room, nodes=nodes):
                return True
        return False

    def _roomier(self, kind: WorkloadClass) -> AbstractSet[str]:
        """Return the nodes on which there may be more room for a class than when nobody was found for it."""
        settled, freed = self._snapshot.settled, self._snapshot.freed
        if settled is None:
            return freed
        if kind in settled.pending:
            return freed | settled.left_alone.get(kind, frozenset())
        is_new = kind in self._looked_at.near or kind not in self._looked_at.stirred
        given_way = settled.rebooked.get(kind)
        return (freed if is_new else frozenset()).union(given_way or ())

    def _may_leave_several(self, queue: ClusterQueue) -> bool:
        """Whether who goes in one flavor may leave something in another of the queue's, as a gang does that has both.

        What was short there, and beside which reservations, is not kept.
        """
        tree = self._snapshot.tree
        if self._of_several is None:
            self._of_several = {tree.path(name)[-1] for name in self._snapshot.candidates.of_several}
        return len(queue.flavors) > 1 and tree.path(queue.name)[-1] in self._of_several


def left_alone(kind: WorkloadClass, left: AnyLedger) -> Reserved:
    """Return the reservations that nobody was found beside: of one pod alone it is told where they leave too little."""
    reserved, requests = left.reserved, kind.pod_sets[0].shape.requests
    if not reserved.nodes or not kind.is_free:
        return reserved
    return Reserved(reserved.workloads, frozenset(one for one in reserved.nodes if not left.is_spared(one, requests)))


def _in_the_way(wait: Wait) -> set[tuple[str, bool]]:
    """Return the flavors in which others are in the way, each with whether it is of room alone."""
    return {(one.flavor, one.reason is Reason.NO_CAPACITY) for one in wait.blockers if one.reason not in HOPELESS}
