"""Members that a gang has lost come in before anybody else: their places are kept for them, and for nobody else.

One goes before others only as far as a place covers it: onto the same flavor, with no larger requests. What is kept for
members that are not made anew yet is spent for the whole decision.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from controller.core.decision.admission_checks import AdmissionChecks
from controller.core.decision.admissions import Admissions
from controller.core.decision.placing import Placing
from controller.core.fitting.placement import Placements
from controller.core.kubernetes.amounts import Requests
from controller.core.ledgers.ledger import Ledger
from controller.core.queueing.queues import ClusterQueue, Flavor
from controller.core.snapshot import Snapshot
from controller.core.workloads.decisions import Wait
from controller.core.workloads.kept_places import KeptPlace
from controller.core.workloads.workload import Workload, WorkloadClass


class MembersMadeAnew:
    """Those of one decision."""

    def __init__(
        self, snapshot: Snapshot, ledger: Ledger, checks: AdmissionChecks, placing: Placing, admitted: Admissions
    ) -> None:
        self._snapshot = snapshot
        self._ledger = ledger
        self._checks = checks
        self._placing = placing
        self._admitted = admitted

    def let_in(self, is_over: Callable[[WorkloadClass], bool]) -> Mapping[WorkloadClass, set[str]]:
        """Admit those that are there, and hold what is kept for the others; return the uids of whom, by class."""
        went: dict[WorkloadClass, set[str]] = {}
        groups = self._snapshot.waiting.kept
        kept = [([one for one in group.places if not self._is_claimed(one)], group) for group in groups]
        for left, _ in kept:
            self._hold(left, 1)
        for left, group in kept:
            for workload in group.workloads:
                queue = self._checks.of(workload.kind.queue)
                if isinstance(queue, Wait) or workload.kind.hold is not None or is_over(workload.kind):
                    continue
                goes = self._goes(queue, workload, left) if left else None
                if goes is None:
                    continue
                found, gone = goes
                self._hold(gone, -1)
                left[:] = [one for one in left if one not in gone]
                self._admitted.admit(workload, queue, found, self._placing.left(queue, workload.kind))
                went.setdefault(workload.kind, set()).add(workload.uid)
        return went

    def _goes(
        self, queue: ClusterQueue, workload: Workload, left: Sequence[KeptPlace]
    ) -> tuple[Placements, Sequence[KeptPlace]] | None:
        """Say where a workload goes, and by which of the places that are left; None: it waits for its turn."""
        has_begun = workload.uid in self._snapshot.waiting.preemptors
        within = queue if has_begun else _in_flavors_of(left, queue)
        if not within.flavors:
            return None  # it names another queue than those that are gone, or that gives their flavors no more
        found = self._find(within, workload, left)
        if isinstance(found, Wait):
            return None
        gone = _covering(workload, found, [one for one in left if one.pod.cluster_queue == queue.name])
        if gone is None and has_begun:
            return found, left[: workload.kind.size]  # others went for what no place covers
        return None if gone is None else (found, gone)

    def _is_claimed(self, one: KeptPlace) -> bool:
        """Whether who preempts has waited for the pod to go: what it leaves is promised already."""
        place = (one.pod.flavor or "", one.pod.node or one.pod.pinned)
        waiting = self._snapshot.waiting
        return any(held[place] for uid, held in waiting.held.items() if uid in waiting.preemptors)

    def _find(self, queue: ClusterQueue, workload: Workload, places: Sequence[KeptPlace]) -> Placements | Wait:
        """Say where a workload goes once all that is kept for its gang is free."""
        with self._ledger.trying():
            self._hold(places, -1)
            found = self._placing.find(queue, workload)
            self._hold(places, 1)
        return found

    def _hold(self, places: Iterable[KeptPlace], times: int) -> None:
        flavors, nodes = self._snapshot.queues.flavors, self._snapshot.nodes.index.nodes
        for one in places:
            pod = one.pod
            flavor, node = flavors.get(pod.flavor or ""), pod.node or pod.pinned
            queue = pod.cluster_queue or ""
            if flavor is None or queue not in self._snapshot.queues.cluster_queues:
                continue
            requests: Requests = tuple([(resource, times * need) for resource, need in pod.shape.requests])
            also: list[Flavor] = [flavors[name] for name in pod.also if name in flavors]
            self._ledger.spend(queue, flavor, requests, node if node in nodes else None, also)


def _in_flavors_of(places: Sequence[KeptPlace], queue: ClusterQueue) -> ClusterQueue:
    """Return the queue with those flavors alone in which places are kept."""
    kept = {one.pod.flavor for one in places}.union(*[one.pod.also for one in places])
    return replace(queue, flavors=tuple([one for one in queue.flavors if one.flavor in kept]))


def _covering(workload: Workload, found: Placements, places: Sequence[KeptPlace]) -> list[KeptPlace] | None:
    """Return a place for each pod of a workload that covers it where it goes; None: there are not enough of them."""
    shapes = [one.shape for one in workload.kind.pod_sets for _ in range(one.count)]
    left, gone = list(places), list[KeptPlace]()
    for shape, placed in sorted(zip(shapes, found, strict=True), key=lambda one: one[0].requests, reverse=True):
        fitting = [one for one in left if _covers(one, shape.requests, placed.flavor.name)]
        if not fitting:
            return None
        # one of this very shape, if there is any: another pod may need what a place has beyond the requests of this one
        wanted = shape.requests
        chosen = min(fitting, key=lambda one: (one.pod.shape.requests != wanted, one.pod.shape.requests))
        gone.append(chosen)
        left.remove(chosen)
    return gone


def _covers(place: KeptPlace, requests: Requests, flavor: str) -> bool:
    kept = dict(place.pod.shape.requests)
    is_enough = all(need <= kept.get(resource, 0) for resource, need in requests)
    return is_enough and (flavor == place.pod.flavor or flavor in place.pod.also)
