"""Classes of which all is said, and which a decision need not look at. Mutable: kept by the cache, read by `decide`.

Within the same world a class that was blocked stays blocked, and one that is held stays held. Events open classes again
(the cache says which); room that comes free on a node concerns only those that were short of it there.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import heappop, heappush
from itertools import count

from controller.core.reasons import QUOTA_REASONS, Reason
from controller.core.workloads.decisions import Wait
from controller.core.workloads.shapes import Shape
from controller.core.workloads.workload import OrderKey, QueueKey, Workload, WorkloadClass, among_all
from controller.core.world.freed_room import FreedRoom
from controller.core.world.pending import Pending

HOPELESS = frozenset({Reason.NEVER_FITS, Reason.FLAVOR_DRY, Reason.UNSCHEDULABLE, Reason.WOULD_DELAY})
"""What nobody who goes would end."""
_Kinds = dict[WorkloadClass, None]
"""A set that keeps its order, so that equal worlds are looked at in the same order."""


class Settled:
    """What was said. `pending` are the classes to look at, `waits` has the arithmetic of those that are blocked.

    Of who is looked at each time, too, where nobody was found to preempt: if nothing is new, nobody is searched for.
    """

    def __init__(self, pending: Iterable[WorkloadClass] = ()) -> None:
        self.pending = Pending(pending)
        self.waits: dict[WorkloadClass, Wait] = {}
        self.stirred: _Kinds = {}
        """Settled classes for which others may go by now."""
        self.left_alone: dict[WorkloadClass, frozenset[str]] = {}
        """By pending class for which nobody was found to preempt: the nodes on which reservations left too little."""
        self.rebooked: dict[WorkloadClass, set[str]] = {}
        """Settled classes that found nobody to preempt beside reservations that gave way since, with those's nodes."""
        self.moved_shares: dict[str, set[str]] = {}
        """By root of a tree that shares fairly the queues of which the share, or who may go, is another since then."""
        self.freed_room = FreedRoom()
        self._short_of_room = _ByShape()
        self._may_preempt = _ByShape()
        self._lined: dict[WorkloadClass, OrderKey] = {}
        self._lines: dict[QueueKey, list[tuple[OrderKey, int, WorkloadClass]]] = {}
        self._first: dict[QueueKey, OrderKey] = {}
        self._firsts: list[tuple[OrderKey, QueueKey]] = []
        self._moved: dict[QueueKey, None] = {}
        """LocalQueues of which the first of the line may be another by now."""
        self._numbers = count()

    def line_up(self, kind: WorkloadClass, order: OrderKey) -> None:
        """Let a settled class be one of those of which the first may be reserved for; `order` is that of its head."""
        self._lined[kind] = order
        heappush(self._lines.setdefault(kind.queue, []), (order, next(self._numbers), kind))
        self._moved[kind.queue] = None

    def head_moved(self, kind: WorkloadClass) -> None:
        """Take in that another workload of a class may be its head now, or its head have another place."""
        if kind in self._lined:
            self._moved[kind.queue] = None

    def firsts(self, runs: Mapping[WorkloadClass, Sequence[Workload]]) -> Sequence[tuple[OrderKey, QueueKey]]:
        """Return the LocalQueues of which any class was lined up, by the place of the first of these among all."""
        for queue in self._moved:
            former = self._first.pop(queue, None)
            if former is not None:
                del self._firsts[bisect_left(self._firsts, (former, queue))]
            line = self._lines[queue]
            while line and not self._is_in_place(line[0], runs):
                order, _, kind = heappop(line)
                if self._lined.get(kind) == order:
                    self.line_up(kind, runs[kind][0].order)
            if line:
                self._first[queue] = among_all(line[0][0])
                insort(self._firsts, (self._first[queue], queue))
            else:
                del self._lines[queue]
        self._moved.clear()
        return self._firsts

    def _is_in_place(
        self, one: tuple[OrderKey, int, WorkloadClass], runs: Mapping[WorkloadClass, Sequence[Workload]]
    ) -> bool:
        """Whether a class is still lined up so; its head may be gone by now, and the next one comes later."""
        order, _, kind = one
        return self._lined.get(kind) == order == runs[kind][0].order

    def line(self, queue: QueueKey, runs: Mapping[WorkloadClass, Sequence[Workload]]) -> Iterator[WorkloadClass]:
        """Yield the classes of one of `firsts` that were lined up, in order as far as it is asked for."""
        line = self._lines[queue]
        first = line[0][2]
        yield first
        rest = {kind for _, _, kind in line if kind in self._lined} - {first}
        yield from sorted(rest, key=lambda kind: runs[kind][0].order)

    def short_of_room(self, flavor: str) -> Mapping[Shape, Iterable[WorkloadClass]]:
        """Return the classes that found no room in a flavor, by the shape of their pods."""
        return self._short_of_room.of(flavor)

    def of_any_room(self, flavor: str) -> Mapping[Shape, Iterable[WorkloadClass]]:
        """Return the classes that any room in a flavor concerns: who may preempt there may need less than it takes."""
        return self._may_preempt.of(flavor)

    def settle(self, kind: WorkloadClass, wait: Wait, *, may_preempt: bool = False) -> None:
        """Look at a class no more, since this is why it waits."""
        self.forget(kind)
        if not wait.blockers:
            return
        self.waits[kind] = wait
        for flavor in contested(wait) if may_preempt else ():
            self._may_preempt.add(flavor, kind)
        for flavor in flavors_without_room(wait):
            self._short_of_room.add(flavor, kind)

    def open(self, kinds: Iterable[WorkloadClass]) -> None:
        """Let these be looked at again, in full."""
        for kind in kinds:
            self.forget_said(kind)
            self.pending.open(kind)

    def stir(self, kinds: Iterable[WorkloadClass]) -> None:
        """Let those of these that are settled be looked at for whom to preempt; what was said of them holds."""
        self.stirred.update(dict.fromkeys(kind for kind in kinds if kind in self.waits))

    def forget(self, kind: WorkloadClass) -> None:
        """Drop a class, of which nothing may wait any more."""
        self.pending.drop(kind)
        self.forget_said(kind)

    def forget_said(self, kind: WorkloadClass) -> None:
        """Drop what was said of a class."""
        self.stirred.pop(kind, None)
        self.left_alone.pop(kind, None)
        if self._lined.pop(kind, None) is not None:
            self._moved[kind.queue] = None
        wait = self.waits.pop(kind, None)
        if wait is not None:
            for flavor in contested(wait):
                self._may_preempt.remove(flavor, kind)
            for flavor in flavors_without_room(wait):
                self._short_of_room.remove(flavor, kind)


class _ByShape:
    """Classes by flavor and by the shapes of their pods."""

    def __init__(self) -> None:
        self._known: dict[str, dict[Shape, _Kinds]] = {}

    def of(self, flavor: str) -> Mapping[Shape, Iterable[WorkloadClass]]:
        return self._known.get(flavor, {})

    def add(self, flavor: str, kind: WorkloadClass) -> None:
        by_shape = self._known.setdefault(flavor, {})
        for one in kind.pod_sets:
            by_shape.setdefault(one.shape, {})[kind] = None

    def remove(self, flavor: str, kind: WorkloadClass) -> None:
        by_shape = self._known.get(flavor, {})
        for shape in {one.shape for one in kind.pod_sets} & by_shape.keys():
            by_shape[shape].pop(kind, None)
            if not by_shape[shape]:
                del by_shape[shape]


def contested(wait: Wait) -> set[str]:
    """Return the flavors in which others are in the way; empty: where a limit over all is, in all of them."""
    return {one.flavor for one in wait.blockers if one.reason not in HOPELESS}


def flavors_without_room(wait: Wait) -> set[str]:
    """Return the flavors in which something else than quota was short."""
    return {one.flavor for one in wait.blockers if one.flavor and one.reason not in QUOTA_REASONS}
