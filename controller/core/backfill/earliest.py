"""When a blocked workload fits: the first of the expected ends after which quota and room are enough for it.

For one pod, ends are gone through one by one, and it is placed only where one of them gave back what it lacks. For a
gang, of which many ends let in a part, they are gone through in steps that double and are halved then, so that it is
placed as often as there are digits in the number of ends that it needs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from math import inf

from controller.core.fitting.placement import Placements, place
from controller.core.forecasts.expected_ends import Holding
from controller.core.ledgers.ledger import Ledger
from controller.core.queueing.queues import ClusterQueue
from controller.core.reasons import QUOTA_REASONS, Reason
from controller.core.snapshot import Snapshot
from controller.core.workloads.decisions import Blocker, Wait
from controller.core.workloads.workload import WorkloadClass


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
    def visited(self) -> int:
        """How many ends were looked at: what this cost."""
        return len(self._seen)

    def take(self, holdings: Iterable[Holding]) -> None:
        """Let these be taken from now on."""
        for one in holdings:
            self._change(one, ended=False)

    def earliest(self, queue: ClusterQueue, kind: WorkloadClass, wait: Wait) -> tuple[float, Placements] | None:
        """Go to when a workload of this class fits; return that time, epoch seconds, and its placements.

        `wait`: why it does not now. None: not even after all ends. The time is infinite where it has to outlast pods of
        unknown runtime.
        """
        # what is short beside other bookings may be something else with these taken; and who would rather preempt
        # for an earlier flavor may fit a later one
        is_told = not queue.preempts_first and all(one.reason is not Reason.WOULD_DELAY for one in wait.blockers)
        found: Placements | Wait | None = wait if is_told else self._place(queue, kind)
        if isinstance(found, Wait):
            found = self._step(queue, kind, found) if kind.is_free else self._halve(queue, kind)
        if found is None:
            return None
        at = self._seen[self.passed - 1].at if self.passed else self._snapshot.now
        placed = self._place(queue, kind) if self._go_through(at) else found
        return None if isinstance(placed, Wait) else (at, placed)

    def _step(self, queue: ClusterQueue, kind: WorkloadClass, wait: Wait) -> Placements | None:
        """Let one after the other end until a workload of one pod fits; return where, None: nowhere."""
        while (one := self._next()) is not None:
            self._pass(one)
            if self._may_help(one, queue, kind, wait):
                found = self._place(queue, kind)
                if not isinstance(found, Wait):
                    return found
                wait = found
        return None

    def _may_help(self, one: Holding, queue: ClusterQueue, kind: WorkloadClass, wait: Wait) -> bool:
        """Say whether something that a workload waits for may be there now that this one ended."""
        index, shape = self._snapshot.nodes.index, kind.pod_sets[0].shape
        is_of_tree = self._snapshot.queues.tree.path(one.queue)[-1] == self._root
        for short in wait.blockers:
            if short.reason in QUOTA_REASONS:
                if is_of_tree and self._is_given_back(short, queue, kind):
                    return True
                continue
            flavor = self._snapshot.queues.flavors[short.flavor]
            if flavor.is_summed:
                if flavor.name in one.flavors and self.then.sum_blocker(flavor, kind.requests) is None:
                    return True
            elif one.node in index.allowed(flavor, shape.constraints) and self.then.fits_on(one.node, shape.requests):
                return True
        return False

    def _is_given_back(self, short: Blocker, queue: ClusterQueue, kind: WorkloadClass) -> bool:
        if not short.flavor:
            return self.then.limit_blocker(queue, kind.requests) is None
        quota = next(one for one in queue.flavors if one.flavor == short.flavor)
        return short.reason is Reason.MIX_LIMIT or self.then.quota_blocker(queue, quota, kind.requests) is None

    def _halve(self, queue: ClusterQueue, kind: WorkloadClass) -> Placements | None:
        """Let others end, in steps that double, until a workload fits; return where after the first that is enough.

        Ends only give back, so what fits after some of them fits after more.
        """
        blocked, found = 0, None
        while found is None:
            if not self._end_next(max(1, blocked)):
                return None
            tried = self._place(queue, kind)
            if isinstance(tried, Wait):
                blocked = self.passed
            else:
                found = tried
        fitting = self.passed
        while fitting - blocked > 1:
            middle = (blocked + fitting) // 2
            self._go_to(middle)
            tried = self._place(queue, kind)
            if isinstance(tried, Wait):
                blocked = middle
            else:
                fitting, found = middle, tried
        self._go_to(fitting)
        return found

    def _place(self, queue: ClusterQueue, kind: WorkloadClass) -> Placements | Wait:
        with self.then.trying():
            return place(self._snapshot, self.then, queue, kind)

    def _next(self) -> Holding | None:
        """Return the next to end, if any is."""
        if self.passed == len(self._seen):
            self._seen += islice(self._coming, 1)
        return self._seen[self.passed] if self.passed < len(self._seen) else None

    def _pass(self, one: Holding) -> None:
        """Let the next one end, which is this."""
        self._change(one, ended=True)
        self.passed += 1

    def _end_next(self, count: int) -> bool:
        """Let so many more end; say whether any did."""
        before = self.passed
        self._seen += islice(self._coming, before + count - len(self._seen))
        self._go_to(min(before + count, len(self._seen)))
        return self.passed > before

    def _go_through(self, at: float) -> bool:
        """Let all end that do so at the same time; say whether any did."""
        before = self.passed
        while at < inf and (one := self._next()) is not None and one.at <= at:
            self._pass(one)
        return self.passed > before

    def _go_to(self, count: int) -> None:
        """Be where so many have ended, of those that were seen."""
        for one in self._seen[self.passed : count]:
            self._change(one, ended=True)
        for one in self._seen[count : self.passed]:
            self._change(one, ended=False)
        self.passed = count

    def _change(self, one: Holding, *, ended: bool) -> None:
        flavors = [self._snapshot.queues.flavors[name] for name in one.flavors if name in self._snapshot.queues.flavors]
        requests = tuple((resource, -need) for resource, need in one.requests) if ended else one.requests
        if one.node in self._snapshot.nodes.index.nodes:
            self.then.occupy(one.node, requests)
        for at, flavor in enumerate(flavors):
            # of other trees only the room concerns anybody here
            if self._snapshot.queues.tree.path(one.queue)[-1] == self._root:
                self.then.charge(one.queue, flavor, requests, is_only_held=at > 0)
            elif flavor.is_summed:
                self.then.draw(flavor, requests)
