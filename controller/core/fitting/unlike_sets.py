"""What is told of a gang of unlike pods that waits: that it never fits, or what is short for all of its sets.

Placing it ends with the first set that finds no quota or room. Another one may be short as well, in other flavors, and
sets that each fit alone may be more together than any quota ever gives.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count
from typing import Final

from controller.core.fitting.avoided import avoided
from controller.core.fitting.mixing import mix_blocker
from controller.core.fitting.placement import choose
from controller.core.fitting.shortages import unfit_for_all
from controller.core.gate.narrowing import Conflict, narrow
from controller.core.kubernetes.amounts import Requests, plus
from controller.core.ledgers.booked import AnyLedger
from controller.core.queueing.queues import ClusterQueue, Flavor, FlavorQuota
from controller.core.reasons import HOPELESS, Reason
from controller.core.snapshot import Snapshot
from controller.core.workloads.decisions import Blocker, Wait
from controller.core.workloads.workload import PodSet, WorkloadClass

_MOST_TRIED: Final = 10_000
"""Ways to share out sets among flavors; where none of so many is found, it is not said that there is none."""
_MOST_WAYS: Final = 16
"""Ways in which others are asked to go."""

Onto = tuple[str, ...]
"""A flavor for each pod set of a workload."""


class UnlikeSets:
    """The sets of gangs that wait, in one decision. What could never be is the same in all of it."""

    def __init__(self, snapshot: Snapshot, ledger: AnyLedger) -> None:
        self._snapshot = snapshot
        self._ledger = ledger
        self._open_to: dict[tuple[str, PodSet], tuple[Sequence[FlavorQuota], tuple[Blocker, ...]]] = {}
        self._known_never: dict[tuple[str, WorkloadClass], tuple[Blocker, ...]] = {}

    def told(self, left: AnyLedger, queue: ClusterQueue, kind: WorkloadClass, wait: Wait) -> Wait:
        """Return why a gang waits of which the first set that fits nowhere waits so, in what is `left` for it."""
        if len(kind.pod_sets) == 1 or wait.reason is Reason.NEVER_FITS or any(not one.flavor for one in wait.blockers):
            return wait
        never = self._known_never.get((queue.name, kind))
        if never is None:
            never = self._known_never[queue.name, kind] = self._never_together(queue, kind)
        if never:
            return Wait(Reason.NEVER_FITS, blockers=never)
        if not queue.preemption.is_any:
            return wait
        # whoever goes in a flavor in which any of its sets is short concerns it
        others = self._others(left, queue, kind)
        first = {one.flavor for one in wait.blockers if one.reason not in HOPELESS}
        more = [one for one in others if one.flavor not in first]
        beside = {one.flavor for one in more}
        return replace(wait, blockers=(*[one for one in wait.blockers if one.flavor not in beside], *more))

    def ways(self, queue: ClusterQueue, kind: WorkloadClass, wait: Wait) -> Iterator[Onto]:
        """Yield onto which flavors the sets may go, those first that the queue prefers."""
        names = [one.flavor for one in queue.flavors]
        last = len(names) if wait.later is None else names.index(wait.later.flavor)
        opened, found = {*names[:last]}, 0
        for onto in self._shared_out(queue, kind):
            if opened.issuperset(onto) and not self._is_avoided(kind, onto):
                yield onto
                found += 1
                if found == _MOST_WAYS:
                    return

    def _is_avoided(self, kind: WorkloadClass, onto: Onto) -> bool:
        pairs = zip(kind.pod_sets, onto, strict=True)
        return any(avoided(self._snapshot.nodes.dry, flavor, one.shape) is not None for one, flavor in pairs)

    def _never_together(self, queue: ClusterQueue, kind: WorkloadClass) -> tuple[Blocker, ...]:
        """Say why no quota and no sums could ever hold all of it; empty: some could, or it is not known."""
        for one in kind.pod_sets:
            opened, never = self._flavors(queue, one)
            if not opened:
                return never
        tried = count()
        if next(self._shared_out(queue, kind, tried), None) is not None or next(tried) > _MOST_TRIED:
            return ()
        return tuple(self._too_much(queue, kind, quota) for quota in queue.flavors)

    def _too_much(self, queue: ClusterQueue, kind: WorkloadClass, quota: FlavorQuota) -> Blocker:
        sets = [one for one in kind.pod_sets if quota in self._flavors(queue, one)[0]]
        found = self._never_holds(queue, quota, plus([one.requests for one in sets])) if sets else None
        if found is not None:
            return replace(found, detail=f"for the pods of the gang together: {found.detail}")
        detail = "not all flavors together could ever hold all pods of the gang"
        return Blocker(quota.flavor, Reason.NEVER_FITS, detail=detail)

    def _shared_out(
        self, queue: ClusterQueue, kind: WorkloadClass, tried: Iterator[int] | None = None
    ) -> Iterator[Onto]:
        """Yield the ways to share out the sets among flavors that could hold them if nothing were used."""
        yield from self._assign_rest(queue, kind.pod_sets, (), {}, count() if tried is None else tried)

    def _assign_rest(
        self,
        queue: ClusterQueue,
        sets: Sequence[PodSet],
        onto: Onto,
        totals: dict[str, Requests],
        tried: Iterator[int],
    ) -> Iterator[Onto]:
        if not sets:
            yield onto
            return
        for quota in self._flavors(queue, sets[0])[0]:
            if next(tried) > _MOST_TRIED:
                return
            before = totals.get(quota.flavor)
            total = sets[0].requests if before is None else plus([before, sets[0].requests])
            if self._never_holds(queue, quota, total) is None:
                more = {**totals, quota.flavor: total}
                yield from self._assign_rest(queue, sets[1:], (*onto, quota.flavor), more, tried)

    def _flavors(self, queue: ClusterQueue, one: PodSet) -> tuple[Sequence[FlavorQuota], tuple[Blocker, ...]]:
        """Return the flavors that could ever hold a set, and why the others could not."""
        known = self._open_to.get((queue.name, one))
        if known is None:
            found = [(quota, self._never(queue, quota, one)) for quota in queue.flavors]
            known = self._open_to[queue.name, one] = (
                [quota for quota, never in found if never is None],
                tuple([never for _, never in found if never is not None]),
            )
        return known

    def _never(self, queue: ClusterQueue, quota: FlavorQuota, one: PodSet) -> Blocker | None:
        """Say why a set could never go to a flavor; None: it could."""
        flavor = self._snapshot.queues.flavors[quota.flavor]
        held = narrow(one.shape.constraints, flavor)
        if isinstance(held, Conflict):
            return Blocker(flavor.name, Reason.NEVER_FITS, detail=held.text)
        mixed = mix_blocker(self._snapshot.queues.flavors, self._ledger, queue, flavor, one.count)
        if mixed is not None and mixed.reason is Reason.NEVER_FITS:
            return mixed
        unfit = None if flavor.is_summed else unfit_for_all(self._snapshot, flavor, one)
        if unfit is not None and unfit.reason is Reason.NEVER_FITS:
            return unfit
        return self._never_holds(queue, quota, one.requests)

    def _never_holds(self, queue: ClusterQueue, quota: FlavorQuota, requests: Requests) -> Blocker | None:
        """Say which quota, or sum of a flavor, could never hold these; None: they all could."""
        flavor = self._snapshot.queues.flavors[quota.flavor]
        for found in (
            self._ledger.quota_blocker(queue, quota, requests),
            self._ledger.sum_blocker(flavor, requests) if flavor.is_summed else None,
        ):
            if found is not None and found.reason is Reason.NEVER_FITS:
                return found
        return None

    def _others(self, left: AnyLedger, queue: ClusterQueue, kind: WorkloadClass) -> Sequence[Blocker]:
        """Return what other sets are short of, by flavor, beside what those before them would have."""
        found: dict[str, Blocker] = {}
        taken: list[tuple[Flavor, Requests, str | None, tuple[Flavor, ...]]] = []
        spent: list[tuple[Flavor, Requests, str | None, tuple[Flavor, ...]]] = []
        with left.trying():
            for one in kind.pod_sets:
                placed = choose(self._snapshot, left, queue, one, kind.waited)
                if isinstance(placed, Wait):
                    short = [it for it in placed.blockers if it.reason not in HOPELESS]
                    for it in short:
                        found.setdefault(it.flavor, replace(it, free=max(0, it.free)))
                    taken = [(self._snapshot.queues.flavors[it.flavor], one.requests, None, ()) for it in short[:1]]
                else:
                    taken = [(it.flavor, one.shape.requests, it.node, it.also) for it in placed]
                for flavor, requests, node, also in taken:
                    left.spend(queue.name, flavor, requests, node, also)
                    spent.append((flavor, requests, node, also))
            for flavor, requests, node, also in reversed(spent):
                left.give_back(queue.name, flavor, requests, node, also)
        return [found[it.flavor] for it in queue.flavors if it.flavor in found]
