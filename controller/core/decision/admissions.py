"""What a decision admits: each admission with what it takes of quota, of room, and of what its user may have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from controller.core.backfill.easy import Backfill
from controller.core.fitting.placement import Placement, Placements
from controller.core.kubernetes.amounts import times
from controller.core.ledgers.booked import AnyLedger
from controller.core.queueing.queues import ClusterQueue, Flavor
from controller.core.quota.user_limits import UserUsage
from controller.core.snapshot import Snapshot
from controller.core.workloads.decisions import Admit
from controller.core.workloads.workload import Workload


class Admissions:
    """The admissions of one decision, `made` in this order."""

    def __init__(self, snapshot: Snapshot, users: UserUsage, backfill: Backfill | None) -> None:
        self._preemptors = snapshot.waiting.preemptors
        self._held = snapshot.waiting.held
        self._users = users
        self._backfill = backfill
        self.made: list[Admit] = []
        self.frees_room = False
        """Whether a preemptor came in elsewhere than room was held for it: who that is room for was not looked at."""

    def admit(self, workload: Workload, queue: ClusterQueue, found: Placements, left: AnyLedger) -> None:
        """Admit all pods of a workload where they were placed in what was `left` for it."""
        shapes = workload.kind.shapes(len(found))
        if self._backfill is not None:
            self._backfill.took(queue, workload, found)
        for shape, one in zip(shapes, found, strict=True):
            left.spend(queue.name, one.flavor, shape.requests, one.node, one.also)
            self._users.add(queue.name, shape.user, shape.requests)
        if workload.kind.is_job:
            self._admit_whole(workload, queue, found)
        else:
            for uid, one in zip(workload.pods, found, strict=True):
                self._note(uid, workload, queue, one, one.node)
        self._compare_with_held(workload)

    def _note(
        self,
        uid: str,
        workload: Workload,
        queue: ClusterQueue,
        placed: Placement,
        node: str | None,
        nodes: tuple[tuple[str | None, int], ...] = (),
    ) -> None:
        among = tuple(flavor.name for flavor in placed.among)
        place = (queue.name, placed.flavor.name, node, among, placed.domains)
        preemptions = self._preemptors.get(workload.uid, 0)
        pins = queue.pins and not nodes
        self.made.append(Admit(uid, workload, *place, is_pinned=pins, preemptions=preemptions, nodes=nodes))

    def _admit_whole(self, workload: Workload, queue: ClusterQueue, found: Placements) -> None:
        """Admit all pods of each template at once: they have one flavor, or one ordered set, and no node is pinned."""
        first = 0
        for uid, count in zip(workload.pods, workload.counts or (len(found),), strict=True):
            of_it = found[first : first + count]
            first += count
            self._note(uid, workload, queue, of_it[0], None, tuple(Counter(one.node for one in of_it).items()))

    def _compare_with_held(self, workload: Workload) -> None:
        """Take in where the workload came in that was admitted last."""
        held = self._held.get(workload.uid)
        if held is not None:
            places = (place for admit in self.made[-len(workload.pods) :] for place in admit.places)
            self.frees_room = self.frees_room or bool(held - Counter(places))

    def admit_alike(
        self,
        workloads: Sequence[Workload],
        queue: ClusterQueue,
        flavor: Flavor,
        nodes: Sequence[str | None],
        left: AnyLedger,
    ) -> None:
        """Admit pods of one class, each by itself and on its node: what they take is charged once for all of them."""
        if not workloads:
            return
        requests = workloads[0].kind.requests
        for workload, node in zip(workloads, nodes, strict=True):
            left.occupy(node, requests)
            uid = workload.pods[0]  # a gang of one has a uid of its own
            preemptions = self._preemptors.get(workload.uid, 0)
            place = (queue.name, flavor.name, node)
            self.made.append(Admit(uid, workload, *place, is_pinned=queue.pins, preemptions=preemptions))
            self._compare_with_held(workload)
            if self._backfill is not None:
                self._backfill.took(queue, workload, (Placement(flavor, node),))
        left.charge(queue.name, flavor, times(requests, len(nodes)))
