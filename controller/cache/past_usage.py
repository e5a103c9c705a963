"""What each LocalQueue has used, forgotten by halves: brought forward when it changes or is read.

Only for trees whose root has a half-life; else nothing is kept. The arithmetic is `core.past_usage`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from controller.core.amounts import Requests
from controller.core.past_usage import PastUsage, PastUsageRule, cores, mixed
from controller.core.queues import LocalQueue
from controller.core.quota_tree import QuotaTree
from controller.core.workloads import QueueKey
from controller.kube.clock import epoch, rfc3339


@dataclass(slots=True)
class Sum:
    """`consumed` as of `at`, epoch seconds (None: from the next time on), and `current` since then.

    `idle_since`: when the last that used anything ended.
    """

    rule: PastUsageRule
    consumed: int = 0
    at: int | None = None
    current: int = 0
    idle_since: int = 0

    def add(self, rate: int) -> None:
        """Somebody begins to use so much, or, below 0, ends."""
        self.current += rate
        self.idle_since = self.at or 0

    def pass_to(self, now: int) -> None:
        """Bring it forward; time that goes back changes nothing."""
        if self.at is not None and now > self.at:
            self.consumed = mixed(self.consumed, self.current, now - self.at, self.rule.half_life)
        self.at = now if self.at is None else max(self.at, now)


@dataclass(frozen=True, slots=True)
class Remembered:
    """A sum as a status keeps it, and what it is the sum of (`PastUsageRule.key`)."""

    key: str
    consumed: int
    at: int


class PastUsageBook:
    """The sums, by LocalQueue. What is remembered counts on with all that runs when it is first brought forward."""

    def __init__(self) -> None:
        self.sums: dict[QueueKey, Sum] = {}
        self._rules: dict[str, PastUsageRule] = {}
        self._remembered: dict[QueueKey, Remembered] = {}
        self._noted: dict[QueueKey, tuple[PastUsageRule, int]] = {}
        """What changed since the latest time that was told: an event is followed by a decision at once."""
        self._now: int | None = None

    def remember(self, queue: QueueKey, status: Mapping[str, Any]) -> None:
        """Take in what a LocalQueue's status says; what is counted here already counts for more."""
        said = status.get("fairSharing")
        try:
            if said and queue not in self.sums:
                found = Remembered(said["counts"], int(said["consumed"]), int(epoch(said["countedUntil"])))
                self._remembered[queue] = found
        except (AttributeError, KeyError, TypeError, ValueError):
            return

    def plant(self, tree: QuotaTree, charges: Iterable[tuple[str, QueueKey, Requests]]) -> None:
        """Count by these rules from now on; `charges` are (cluster queue, LocalQueue, requests) of all pods."""
        rules = {name: rule for name in tree.names if (rule := tree.past_usage(name)) is not None}
        if rules == self._rules:
            return
        former, self._rules, self.sums = self.sums, rules, {}
        self._noted.clear()
        for queue, one in former.items():
            if one.at is not None:
                self._pass(one)
                self._remembered[queue] = Remembered(one.rule.key, one.consumed, one.at)
        for cluster_queue, queue, requests in charges if rules else ():
            self.add(cluster_queue, queue, requests, 1)

    def add(self, cluster_queue: str, queue: QueueKey, requests: Requests, sign: int) -> None:
        """A pod is charged, or with -1 is no longer."""
        rule = self._rules.get(cluster_queue)
        if rule is not None:
            _, noted = self._noted.get(queue, (rule, 0))
            self._noted[queue] = rule, noted + sign * rule.rate(requests)

    def _sum(self, rule: PastUsageRule, queue: QueueKey) -> Sum:
        found = self.sums.get(queue)
        if found is None:
            known = self._remembered.pop(queue, None)
            fits = known is not None and known.key == rule.key
            found = Sum(rule)
            if known is not None and fits:
                found = Sum(rule, known.consumed, known.at, idle_since=known.at)
            self.sums[queue] = found
        return found

    def _pass(self, one: Sum) -> None:
        if self._now is not None:
            one.pass_to(self._now)

    def at(self, now: float, queues: Mapping[QueueKey, LocalQueue]) -> Mapping[QueueKey, PastUsage]:
        """Let it be this time, epoch seconds; return what each LocalQueue of a tree with a half-life is ordered by."""
        if not self._rules:
            return {}
        is_first, self._now = self._now is None, int(now)
        for queue, (rule, rate) in self._noted.items():
            one = self._sum(rule, queue)
            if not is_first:
                self._pass(one)
            one.add(rate)  # what runs when we start ran since the sum was written
            self._pass(one)
        self._noted.clear()
        return _AtTheMoment(self, queues)

    def of(self, queue: QueueKey, local: LocalQueue) -> PastUsage | None:
        """Return what a LocalQueue is ordered by; None where its tree has no half-life."""
        rule = self._rules.get(local.cluster_queue)
        if rule is None:
            return None
        one = self._sum(rule, queue)
        self._pass(one)
        return PastUsage(rule, one.consumed, one.current, local.weight)

    def is_said(self, queue: QueueKey, until: float) -> bool:
        """Say whether what was right at that time, epoch seconds, still tells all: nothing is used, nor was since."""
        one = self.sums.get(queue)
        return one is not None and not one.current and until >= one.idle_since

    def status(self, queue: QueueKey, cluster_queue: str) -> dict[str, str] | None:
        """Return what a LocalQueue's status says of its usage; None where nothing is counted."""
        rule = self._rules.get(cluster_queue)
        one = None if rule is None else self._sum(rule, queue)
        if one is None or self._now is None:
            return None
        self._pass(one)
        counted = {"counts": one.rule.key, "consumed": str(one.consumed), "countedUntil": rfc3339(one.at or 0)}
        return {"usage": cores(one.consumed), **counted}


class _AtTheMoment(Mapping[QueueKey, PastUsage]):
    """Brought forward only for whom a decision asks."""

    def __init__(self, book: PastUsageBook, queues: Mapping[QueueKey, LocalQueue]) -> None:
        self._book = book
        self._queues = queues

    def __getitem__(self, queue: QueueKey) -> PastUsage:
        found = self._book.of(queue, self._queues[queue])
        if found is None:
            raise KeyError(queue)
        return found

    def __iter__(self) -> Iterator[QueueKey]:
        return (queue for queue in self._queues if queue in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)
