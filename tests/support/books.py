"""Usage of every queue of a tree, by the rules of Kueue's documents, plainly: nothing is shared with the core."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Share:
    """One queue's quota of one resource of one flavor. `borrows` and `lends` None: no limit."""

    parent: str
    owns: int
    borrows: int | None = None
    lends: int | None = None


class Books:
    """What every queue of a tree uses; amounts are in the unit of the shares."""

    def __init__(self, shares: Mapping[str, Share]) -> None:
        """`shares` by queue; the root has no parent."""
        self._shares = shares
        self._charged: Counter[str] = Counter()
        self._children: dict[str, list[str]] = {}
        for name, share in shares.items():
            self._children.setdefault(share.parent, []).append(name)
        self.owned: dict[str, int] = {}
        for root in self._children[""]:
            self._own(root)
        self.most: Counter[str] = Counter()
        """The most that was ever used, by queue."""

    def _own(self, name: str) -> int:
        below = self._children.get(name, ())
        self.owned[name] = self._shares[name].owns + sum(self._own(one) - self._kept(one) for one in below)
        return self.owned[name]

    def _kept(self, name: str) -> int:
        lends = self._shares[name].lends
        return 0 if lends is None else max(0, self.owned[name] - lends)

    def _used(self, name: str) -> int:
        below = self._children.get(name, ())
        return self._charged[name] + sum(max(0, self._used(one) - self._kept(one)) for one in below)

    def excesses(self, changes: Iterable[tuple[str, str, int]]) -> Iterator[str]:
        """Book all changes, each (workload, queue, amount); say each time that a queue uses more than it may."""
        for workload, queue, amount in changes:
            self._charged[queue] += amount
            name = queue
            while name and amount > 0:
                used, most = self._used(name), self.allowed(name)
                self.most[name] = max(self.most[name], used)
                if most is not None and used > most:
                    yield f"{workload} of {queue}: {name} uses {used} of {most}"
                name = self._shares[name].parent

    def allowed(self, name: str) -> int | None:
        """The most that a queue may use; None: as much as its parent has."""
        share = self._shares[name]
        if not share.parent:
            return self.owned[name]
        return None if share.borrows is None else self.owned[name] + share.borrows
