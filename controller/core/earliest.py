"""When a blocked workload fits: the first of the expected ends after which quota and room are enough for it.

Ends only give back, so what fits after some of them fits after more: they are gone through in steps that double, and
then halved, so that a workload is placed as often as there are digits in the number of ends that it needs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from math import inf

from controller.core.expected_ends import Holding
from controller.core.ledger import Ledger
from controller.core.placement import Placements, place
from controller.core.queues import ClusterQueue
from controller.core.snapshot import Snapshot
from controller.core.workloads import WorkloadClass


class Outlook:
    """What is left as time goes on. `then` is as it is after the first `passed` of the ends.

    Quota is right in one tree alone, that of `root`.
    """

    def __init__(self, snapshot: Snapshot, ledger: Ledger, ends: Iterable[Holding], root: str, *, most: int) -> None:
        """`ledger` goes on from now, and is not to be used elsewhere; no more than `most` ends are looked at."""
        self._snapshot = snapshot
        self._root = root
        self._coming: Iterator[Holding] = islice(ends, most)
        self._seen: list[Holding] = []
        self.then = ledger
        self.passed = 0

    @property
    def looked_at(self) -> int:
        """How many ends were looked at: what this cost."""
        return len(self._seen)

    def take(self, holdings: Iterable[Holding]) -> None:
        """Let these be taken from now on."""
        for one in holdings:
            self._change(one, ended=False)

    def earliest(self, queue: ClusterQueue, kind: WorkloadClass) -> tuple[float, Placements] | None:
        """Go to when a workload of this class fits; return that time, epoch seconds, and its placements.

        None: not even after all ends. The time is infinite where it has to outlast pods of unknown runtime.
        """
        blocked, found = 0, self._fits(queue, kind)
        while found is None:
            blocked = self.passed
            if not self._go_on(max(1, blocked)):
                return None
            found = self._fits(queue, kind)
        fitting = self.passed
        while fitting - blocked > 1:
            middle = (blocked + fitting) // 2
            self._go_to(middle)
            if self._fits(queue, kind) is None:
                blocked = middle
            else:
                fitting = middle
        self._go_to(fitting)
        at = self._seen[fitting - 1].at if fitting else self._snapshot.now
        self._go_through(at)
        found = self._fits(queue, kind)
        return None if found is None else (at, found)

    def _fits(self, queue: ClusterQueue, kind: WorkloadClass) -> Placements | None:
        with self.then.trying():
            found = place(self._snapshot, self.then, queue, kind, only_freed=False)
        return found if isinstance(found, tuple) else None

    def _go_on(self, count: int) -> bool:
        """Let so many more end; say whether any did."""
        before = self.passed
        self._seen += islice(self._coming, before + count - len(self._seen))
        self._go_to(min(before + count, len(self._seen)))
        return self.passed > before

    def _go_through(self, at: float) -> None:
        """Let all end that do so at the same time."""
        while at < inf:
            self._seen += islice(self._coming, max(0, self.passed + 1 - len(self._seen)))
            if self.passed == len(self._seen) or self._seen[self.passed].at > at:
                return
            self._go_to(self.passed + 1)

    def _go_to(self, count: int) -> None:
        """Be where so many have ended, of those that were seen."""
        for one in self._seen[self.passed : count]:
            self._change(one, ended=True)
        for one in self._seen[count : self.passed]:
            self._change(one, ended=False)
        self.passed = count

    def _change(self, one: Holding, *, ended: bool) -> None:
        flavors = [self._snapshot.flavors[name] for name in one.flavors if name in self._snapshot.flavors]
        requests = tuple((resource, -need) for resource, need in one.requests) if ended else one.requests
        if one.node in self._snapshot.nodes.nodes:
            self.then.occupy(one.node, requests)
        for at, flavor in enumerate(flavors):
            # of other trees only the room concerns anybody here
            if self._snapshot.tree.path(one.queue)[-1] == self._root:
                self.then.charge(one.queue, flavor, requests, is_only_held=at > 0)
            elif flavor.is_summed:
                self.then.draw(flavor, requests)
