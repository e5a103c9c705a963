"""What admitted pods hold, in the order in which they are expected to give it back.

Mutable; the cache keeps it while a queue backfills, the decision only reads it.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator
from dataclasses import dataclass, replace

from controller.core.amounts import Requests
from controller.core.runtimes import GOING_SECONDS, put_off

_Key = tuple[float, float, str]


@dataclass(frozen=True, slots=True)
class Holding:
    """What one pod holds until `at` (epoch seconds; infinite: nobody knows) of a cluster queue, a flavor and a node.

    Among those of which nobody knows, the one that holds it longest, `since` epoch seconds, is expected to end first:
    so whoever comes later is never counted on. `step`: `runtimes.step_after`.
    """

    at: float
    since: float
    uid: str
    queue: str
    flavor: str
    requests: Requests
    node: str | None
    step: float = GOING_SECONDS

    @property
    def key(self) -> _Key:
        """Its place among all."""
        return self.at, self.since, self.uid


_FEW = 32


class ExpectedEnds:
    """Holdings by uid, and sorted. Putting one costs a search; many at once are sorted once."""

    def __init__(self) -> None:
        self._by_uid: dict[str, Holding] = {}
        self._keys: list[_Key] = []
        self._new: list[_Key] = []
        self.brought_forward = 0
        """How often an end came to be expected earlier than before: room beside reservations may have grown by that."""

    def put(self, holding: Holding) -> None:
        """Let this be what its pod holds."""
        known = self._by_uid.get(holding.uid)
        if known == holding:
            return
        self._by_uid[holding.uid] = holding
        self.brought_forward += known is not None and holding.at < known.at
        if known is None or known.key != holding.key:
            self._new.append(holding.key)

    def drop(self, uid: str) -> None:
        """Forget a pod that holds nothing any more."""
        self._by_uid.pop(uid, None)

    def pass_to(self, now: float) -> None:
        """Put off the ends of pods that should have ended by now, epoch seconds."""
        late: list[Holding] = []
        for one in self:
            if one.at > now:
                break
            late.append(one)
        for one in late:
            self.put(replace(one, at=put_off(one.at, one.step, now)))

    def __iter__(self) -> Iterator[Holding]:
        """Yield them in the order in which they are expected to end."""
        self._sort()
        former: _Key | None = None
        for key in self._keys:
            holding = self._by_uid.get(key[2])
            # one that came back to a former place stands there twice
            if holding is not None and holding.key == key != former:
                yield holding
            former = key

    def _sort(self) -> None:
        """Put the new ones in their places; those that are outdated go when they are the half."""
        if len(self._keys) + len(self._new) > 2 * len(self._by_uid) + _FEW:
            self._keys, self._new = sorted(one.key for one in self._by_uid.values()), []
        elif len(self._new) > _FEW:
            self._keys = sorted(self._keys + self._new)
            self._new = []
        for key in self._new:
            insort(self._keys, key)
        self._new = []
