"""The classes that wait, in rows: one for each flavor that a class's queue gives, and for each of its pod sets.

A row says which amounts a pod set takes there, by the rows of `AmountRows`, and which of the flavor's `FittingPods` are
its shape's. Rows come and go with classes; all are made anew with the tree, the flavors or the nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import IntEnum
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from controller.core.capacity.fitting_pods import Counts, FittingPods, Rows
from controller.core.feasibility.amount_rows import ANY_QUEUE
from controller.core.gate.narrowing import Conflict, narrow
from controller.core.kubernetes.quota_resources import QuotaResources
from controller.core.queueing.queues import ClusterQueue, Flavor, FlavorQuota
from controller.core.quota.available_amounts import MOST, Amounts, bounded
from controller.core.quota.quota_tree import UsageKey
from controller.core.workloads.workload import PodSet, WorkloadClass

QueueOf = Callable[[WorkloadClass], ClusterQueue | None]
Verdicts = NDArray[np.int8]

_NOTHING: Final = -4 * MOST
"""Taken of any amount where a row takes fewer than others do: there is always as much left."""
_SUMMED: Final = -1
"""In the place of a flavor's number, where its room is known by sums."""


class Verdict(IntEnum):
    """What the rows say of a class, by the flavor in which it lacks least."""

    NO_QUOTA = 0
    NO_ROOM = 1
    FEASIBLE = 2
    """It may fit: a look at it says whether it does."""


class _Row(NamedTuple):
    """A pod set in one flavor; `takes` are amounts by the row of what they are taken of."""

    part: int
    flavor: str
    takes: Sequence[tuple[int, int]]
    pods: PodSet


class ClassRows:
    """Rows of all classes that were put in. A part is a pod set of a class."""

    def __init__(
        self,
        row_of: Mapping[UsageKey, int],
        flavors: Mapping[str, Flavor],
        fitting: FittingPods,
        queue_of: QueueOf,
        resources: QuotaResources,
    ) -> None:
        """`queue_of` returns the ClusterQueue of a class; None: it has none, or a queue that does not exist."""
        self._row_of = row_of
        self._flavors = flavors
        self._fitting = fitting
        self._queue_of = queue_of
        self._resources = resources
        self._numbers = {name: at for at, name in enumerate(n for n, one in flavors.items() if not one.is_summed)}
        self._clear()

    def _clear(self) -> None:
        self._kinds: list[WorkloadClass] = []
        self._place_of: dict[WorkloadClass, int] = {}
        self._is_there = np.zeros(0, dtype=np.bool_)
        self._kind_of_part: Rows = np.zeros(0, dtype=np.intp)
        self._part: Rows = np.zeros(0, dtype=np.intp)
        self._taken_of: Rows = np.zeros((0, 1), dtype=np.intp)
        self._takes: Amounts = np.zeros((0, 1), dtype=np.int64)
        self._flavor: Rows = np.zeros(0, dtype=np.intp)
        self._shape: Rows = np.zeros(0, dtype=np.intp)
        self._count: Counts = np.zeros(0, dtype=np.int64)

    def __contains__(self, kind: object) -> bool:
        return kind in self._place_of

    def put(self, kinds: Iterable[WorkloadClass]) -> None:
        """Add these classes, all of them new."""
        rows, parts = list[_Row](), list[int]()
        for kind in kinds:
            self._place_of[kind] = place = len(self._kinds)
            self._kinds.append(kind)
            queue = self._queue_of(kind)
            for pods in kind.pod_sets:
                part = len(self._kind_of_part) + len(parts)
                parts.append(place)
                rows += self._rows_of(queue, pods, part) if queue is not None else ()
        self._is_there = np.concatenate([self._is_there, np.ones(len(self._kinds) - len(self._is_there), np.bool_)])
        self._kind_of_part = np.concatenate([self._kind_of_part, np.array(parts, dtype=np.intp)])
        self._append(rows)

    def drop(self, kinds: Iterable[WorkloadClass]) -> None:
        """Take these classes out."""
        for kind in kinds:
            self._is_there[self._place_of.pop(kind)] = False
        if len(self._place_of) < len(self._kinds) // 2:
            self._compact()

    def having(self, verdicts: Verdicts, verdict: Verdict) -> list[WorkloadClass]:
        """Return the classes of which this was said, in the order in which they were put in."""
        return [self._kinds[place] for place in np.flatnonzero(verdicts == verdict).tolist() if self._is_there[place]]

    def verdicts(self, available: Amounts, fitting: FittingPods) -> Verdicts:
        """Return what is said of each class, by its place, where so much is left: of amounts, and of pods that fit.

        `fitting` is that of these rows, or a fork of it.
        """
        has_quota = (self._takes <= available[self._taken_of]).all(axis=1)
        has_room = np.ones(len(self._part), dtype=np.bool_)
        for name, number in self._numbers.items():
            rows = np.flatnonzero(self._flavor == number)
            has_room[rows] = fitting.counts(name)[self._shape[rows]] >= self._count[rows]
        of_row = np.where(has_quota, np.where(has_room, Verdict.FEASIBLE, Verdict.NO_ROOM), Verdict.NO_QUOTA)
        of_part = np.zeros(len(self._kind_of_part), dtype=np.int8)
        np.maximum.at(of_part, self._part, of_row.astype(np.int8))
        of_kind = np.where(self._is_there, np.int8(Verdict.FEASIBLE), np.int8(Verdict.NO_QUOTA))
        np.minimum.at(of_kind, self._kind_of_part, of_part)
        return of_kind

    def _rows_of(self, queue: ClusterQueue, pods: PodSet, part: int) -> Iterator[_Row]:
        for quota in queue.flavors:
            flavor = self._flavors.get(quota.flavor)
            if flavor is None or isinstance(narrow(pods.shape.constraints, flavor), Conflict):
                continue
            takes = self._takes_in(queue, quota, flavor, pods)
            if takes is not None:
                yield _Row(part, flavor.name, takes, pods)

    def _takes_in(
        self, queue: ClusterQueue, quota: FlavorQuota, flavor: Flavor, pods: PodSet
    ) -> list[tuple[int, int]] | None:
        """Return what a pod set takes in a flavor; None: of something there is no quota, or no sum at all."""
        takes = list[tuple[int, int]]()
        for resource, need in pods.requests:
            given = self._row_of.get((queue.name, flavor.name, resource)) if resource in quota.nominal else None
            summed = self._row_of.get((ANY_QUEUE, flavor.name, resource))
            is_short = given is None or (flavor.is_summed and summed is None)
            if is_short and not self._resources.needs_no_quota(resource):
                return None
            limit = self._row_of.get((queue.name, "", resource))
            takes += [(row, bounded(need)) for row in (given, limit, summed) if row is not None]
        return takes

    def _append(self, rows: Sequence[_Row]) -> None:
        width = max([self._takes.shape[1], *(len(one.takes) for one in rows)])
        taken_of, takes = np.zeros((len(rows), width), np.intp), np.full((len(rows), width), _NOTHING, np.int64)
        for at, one in enumerate(rows):
            for number, (row, amount) in enumerate(one.takes):
                taken_of[at, number], takes[at, number] = row, amount
        self._taken_of = np.concatenate([_widened(self._taken_of, width, 0), taken_of])
        self._takes = np.concatenate([_widened(self._takes, width, _NOTHING), takes])
        flavors = np.array([self._numbers.get(one.flavor, _SUMMED) for one in rows], dtype=np.intp)
        self._flavor = np.concatenate([self._flavor, flavors])
        self._part = np.concatenate([self._part, np.array([one.part for one in rows], dtype=np.intp)])
        self._count = np.concatenate([self._count, np.array([one.pods.count for one in rows], dtype=np.int64)])
        shapes = np.zeros(len(rows), dtype=np.intp)
        for name, number in self._numbers.items():
            there = np.flatnonzero(flavors == number)
            if there.size:
                shapes[there] = self._fitting.rows(self._flavors[name], [rows[at].pods.shape for at in there.tolist()])
        self._shape = np.concatenate([self._shape, shapes])

    def _compact(self) -> None:
        """Forget the rows of those that are gone."""
        kept = list(self._place_of)
        self._clear()
        self.put(kept)


def _widened(array: NDArray[np.int64], width: int, value: int) -> NDArray[np.int64]:
    missing = width - array.shape[1]
    return np.pad(array, ((0, 0), (0, missing)), constant_values=value) if missing else array
