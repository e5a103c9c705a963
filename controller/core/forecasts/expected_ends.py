"""What admitted pods hold, in the order in which they are expected to give it back.

Mutable; the cache keeps it while a queue backfills, the decision only reads it.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from heapq import merge
from operator import attrgetter

from controller.core.forecasts.runtimes import GOING_SECONDS, put_off
from controller.core.kubernetes.amounts import Requests

_Key = tuple[float, float, str]


@dataclass(frozen=True, slots=True)
class Holding:
    """What one pod holds until `at` (epoch seconds; infinite: nobody knows) of a cluster queue, flavors and a node.

    `flavors` are those that hold quota for it, the one that pays first. Among those of which nobody knows when they
    end, the one that holds it longest, `since` epoch seconds, is expected to end first: so whoever comes later is never
    counted on. `step`: `runtimes.step_after`.
    """

    at: float
    since: float
    uid: str
    queue: str
    flavors: tuple[str, ...]
    requests: Requests
    node: str | None
    step: float = GOING_SECONDS

    @property
    def key(self) -> _Key:
        """Its place among all."""
        return self.at, self.since, self.uid


by_end = attrgetter("key")
"""Sorts holdings as they end."""

_FEW = 32


class ExpectedEnds:
    """Holdings by uid, and sorted by flavor: who waits for one flavor need not look at what others give back."""

    def __init__(self) -> None:
        self._by_uid: dict[str, Holding] = {}
        self._ends: dict[tuple[str, ...], _SortedEnds] = {}

    def put(self, holding: Holding) -> None:
        """Let this be what its pod holds."""
        known = self._by_uid.get(holding.uid)
        if known == holding:
            return
        if known is not None and (known.key, known.flavors) == (holding.key, holding.flavors):
            self._by_uid[holding.uid] = holding
            return
        self.drop(holding.uid)
        self._by_uid[holding.uid] = holding
        self._ends.setdefault(holding.flavors, _SortedEnds()).add(holding.key)

    def drop(self, uid: str) -> None:
        """Forget a pod that holds nothing any more."""
        known = self._by_uid.pop(uid, None)
        if known is None:
            return
        ends = self._ends[known.flavors]
        ends.remove(known.key)
        if not ends:
            del self._ends[known.flavors]

    def advance(self, now: float) -> None:
        """Put off the ends of pods that should have ended by now, epoch seconds."""
        for flavors in list(self._ends):
            for one in [self._by_uid[uid] for *_, uid in self._ends[flavors].until(now)]:
                self.put(replace(one, at=put_off(one.at, one.step, now)))

    def __iter__(self) -> Iterator[Holding]:
        """Yield all in the order in which they are expected to end."""
        return self._of(self._ends)

    def of(self, flavors: Collection[str]) -> Iterator[Holding]:
        """Yield those that hold any of these flavors, in the order in which they are expected to end."""
        return self._of([one for one in self._ends if not set(flavors).isdisjoint(one)])

    def _of(self, groups: Collection[tuple[str, ...]]) -> Iterator[Holding]:
        for *_, uid in merge(*(self._ends[one] for one in groups)):
            yield self._by_uid[uid]


class _SortedEnds:
    """Keys in order. Adding or removing one costs a search, and many at once are sorted once, when somebody looks."""

    def __init__(self) -> None:
        self._sorted: list[_Key] = []
        self._added: dict[_Key, None] = {}
        self._removed: set[_Key] = set()

    def __bool__(self) -> bool:
        return len(self._sorted) + len(self._added) > len(self._removed)

    def add(self, key: _Key) -> None:
        """Take in a key that is not there."""
        if key in self._removed:
            self._removed.discard(key)
        else:
            self._added[key] = None

    def remove(self, key: _Key) -> None:
        """Take out a key that is there."""
        if key in self._added:
            del self._added[key]
        else:
            self._removed.add(key)

    def until(self, at: float) -> list[_Key]:
        """Return those whose time is not after this."""
        found: list[_Key] = []
        for key in self:
            if key[0] > at:
                break
            found.append(key)
        return found

    def __iter__(self) -> Iterator[_Key]:
        if len(self._removed) > _FEW:
            self._sorted = [key for key in self._sorted if key not in self._removed]
            self._removed.clear()
        if len(self._added) > _FEW:
            self._sorted = sorted([*self._sorted, *self._added])
        else:
            for key in self._added:
                insort(self._sorted, key)
        self._added.clear()
        return self._left() if self._removed else iter(self._sorted)

    def _left(self) -> Iterator[_Key]:
        for key in self._sorted:
            if key not in self._removed:
                yield key
