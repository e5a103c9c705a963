"""Where a workload goes as things stand in a decision, or why it waits."""

from __future__ import annotations

from dataclasses import replace

from controller.core.backfill.easy import Backfill
from controller.core.decision.admission_checks import held
from controller.core.fitting.placement import Placements, place
from controller.core.ledgers.booked import AnyLedger
from controller.core.ledgers.ledger import Ledger
from controller.core.preemption.preempting import Preempting
from controller.core.queueing.queues import ClusterQueue
from controller.core.quota.user_limits import UserUsage
from controller.core.reasons import QUOTA_REASONS
from controller.core.snapshot import Snapshot
from controller.core.workloads.decisions import Wait
from controller.core.workloads.workload import Workload, WorkloadClass


class Placing:
    """The looks of one decision at what quota, room, users' limits and reservations leave."""

    def __init__(
        self, snapshot: Snapshot, ledger: Ledger, users: UserUsage, backfill: Backfill | None, preempting: Preempting
    ) -> None:
        self._snapshot = snapshot
        self._ledger = ledger
        self._users = users
        self._backfill = backfill
        self._preempting = preempting
        self._unlike = preempting.unlike

    def left(self, queue: ClusterQueue, kind: WorkloadClass) -> AnyLedger:
        """Return what a class may take of what is left."""
        return self._ledger if self._backfill is None else self._backfill.view(queue, kind)

    def find(self, queue: ClusterQueue, workload: Workload) -> Placements | Wait:
        """Say where a workload goes, or why nowhere."""
        kind = workload.kind
        if kind.hold is not None:
            return held(kind.hold)
        limited = self.limited(queue, kind)
        if limited is not None:
            return limited
        found = self._place(queue, kind)
        if kind.most and not isinstance(found, Wait):
            found = self._widest(queue, kind, found)
        if isinstance(found, Wait):
            found = self._unlike.told(self.left(queue, kind), queue, kind, found)
            found = self._beside_kept(queue, found) if self._snapshot.waiting.kept else found
        return (
            self._preempting.prefer_preemption(queue, workload, found, self.left(queue, kind))
            if queue.preempts_first
            else found
        )

    def _widest(self, queue: ClusterQueue, kind: WorkloadClass, found: Placements) -> Placements:
        """Return where as many pods of a Job go as can, of those that it wants beyond what it needs; `found`: these.

        All of them are tried first, then the numbers in between, by halves: each try costs as much as a workload.
        """
        fewest, too_many = kind.size, kind.most + 1
        count = kind.most
        while count > fewest:
            wider = kind.of_size(count)
            tried = self.limited(queue, wider) or self._place(queue, wider)
            if isinstance(tried, Wait):
                too_many = count
            else:
                fewest, found = count, tried
            count = (fewest + too_many) // 2
        return found

    def _beside_kept(self, queue: ClusterQueue, wait: Wait) -> Wait:
        """Say of what is short how much of it is kept for members that gangs have lost."""
        path, tree = self._snapshot.queues.tree.path(queue.name), self._snapshot.queues.tree
        places = [one for group in self._snapshot.waiting.kept for one in group.places]
        blockers = []
        for one in wait.blockers:
            of_tree = one.reason in QUOTA_REASONS
            kept = [
                (dict(it.pod.shape.requests).get(one.resource or "", 0), it.until)
                for it in places
                if one.flavor in ("", it.pod.flavor)
                and (not of_tree or tree.path(it.pod.cluster_queue or "")[-1] == path[-1])
            ]
            amount = sum(need for need, _ in kept)
            last = max((until for need, until in kept if need), default=0.0)
            blockers.append(replace(one, kept=(amount, last)) if amount else one)
        return replace(wait, blockers=tuple(blockers))

    def limited(self, queue: ClusterQueue, kind: WorkloadClass) -> Wait | None:
        """Return why a class waits whose user is at a limit by now."""
        limit = self._users.first_blocker(queue.name, kind)
        return None if limit is None else Wait(limit.reason, blockers=(limit,))

    def _place(self, queue: ClusterQueue, kind: WorkloadClass) -> Placements | Wait:
        if self._backfill is None:
            return place(self._snapshot, self._ledger, queue, kind)
        return self._backfill.place(queue, kind)
