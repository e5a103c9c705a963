"""What each LocalQueue, and user in it, has used, forgotten by halves: brought forward when it changes or is read.

Where namespaces are ordered, the sums of their LocalQueues are added up for that; what is kept is by LocalQueue.
Only for trees whose root has a half-life; else nothing is kept. The arithmetic is `core.queueing.past_usage`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from controller.cache.budgets.clock_jumps import ClockJumps
from controller.cache.usage.usage_sums import Remembered, Sum, remembered, users_said
from controller.core.kubernetes.amounts import Requests
from controller.core.queueing.past_usage import PastUsage, PastUsageRule, Whose, cores
from controller.core.queueing.queues import LocalQueue
from controller.core.quota.quota_tree import QuotaTree
from controller.core.workloads.workload import QueueKey
from controller.kube.clock import rfc3339


class PastUsageBook:
    """The sums, by LocalQueue. What is remembered counts on with all that runs when it is first brought forward."""

    def __init__(self) -> None:
        self.sums: dict[QueueKey, Sum] = {}
        self._users: dict[QueueKey, dict[str, Sum]] = {}
        """By name, where users are told apart; who is no longer there used next to nothing."""
        self._rules: dict[str, PastUsageRule] = {}
        self._remembered: dict[QueueKey, Remembered] = {}
        self._noted: dict[tuple[QueueKey, str], tuple[PastUsageRule, int]] = {}
        """By LocalQueue and user what changed since the latest time told: a decision follows an event at once."""
        self._siblings: dict[tuple[str, str], dict[QueueKey, None]] = {}
        """By ClusterQueue and namespace the LocalQueues, also those that are deleted: what they used stays used."""
        self._now: int | None = None
        self._jumps: ClockJumps[Mapping[QueueKey, Remembered]] = ClockJumps()

    def remember(self, queue: QueueKey, status: Mapping[str, Any]) -> None:
        """Take in what a LocalQueue's status says; what is counted here already counts for more."""
        said = status.get("fairSharing")
        try:
            if said:
                self.restore(queue, remembered(said))
        except (AttributeError, KeyError, TypeError, ValueError):
            return

    def restore(self, queue: QueueKey, known: Remembered) -> None:
        """Take in a sum that was kept elsewhere; what is counted here already counts for more."""
        if queue not in self.sums:
            self._remembered[queue] = known

    def note(self, queue: QueueKey, cluster_queue: str) -> None:
        """Take in that a LocalQueue leads to this ClusterQueue."""
        self._siblings.setdefault((cluster_queue, queue[0]), {})[queue] = None

    def plant(self, tree: QuotaTree, charges: Iterable[tuple[str, QueueKey, str, Requests]]) -> None:
        """Count by these rules from now on; `charges`: (cluster queue, LocalQueue, user, requests) of all pods."""
        rules = {name: rule for name in tree.names if (rule := tree.past_usage(name)) is not None}
        if rules == self._rules:
            return
        self._remembered = self.so_far()
        self._rules, self.sums, self._users = rules, {}, {}
        self._noted.clear()
        for cluster_queue, queue, user, requests in charges if rules else ():
            self.add(cluster_queue, queue, user, requests, 1)

    def so_far(self) -> dict[QueueKey, Remembered]:
        """What statuses would keep, as of the latest time told; of queues that are not counted yet, what they keep."""
        found = dict(self._remembered)
        for queue, one in self.sums.items():
            if one.at is not None:
                users = self._users.get(queue, {})
                for theirs in (one, *users.values()):
                    self._pass(theirs)
                used = {name: theirs.consumed for name, theirs in users.items()}
                found[queue] = Remembered(one.rule.key, one.consumed, one.at, used)
        return found

    def _resume_from(self, righted: Mapping[QueueKey, Remembered]) -> None:
        """Let the sums be these, with all that runs since, as for a controller that starts."""
        self._remembered = {**self.so_far(), **righted}
        for queue, whole in self.sums.items():
            for user, one in self._users.get(queue, {}).items() if whole.rule.by_user else (("", whole),):
                _, noted = self._noted.get((queue, user), (one.rule, 0))
                self._noted[queue, user] = one.rule, noted + one.current
        self.sums, self._users = {}, {}

    def add(self, cluster_queue: str, queue: QueueKey, user: str, requests: Requests, sign: int) -> None:
        """A pod is charged, or with -1 is no longer."""
        rule = self._rules.get(cluster_queue)
        if rule is not None:
            self.note(queue, cluster_queue)
            key = queue, user if rule.by_user else ""
            _, noted = self._noted.get(key, (rule, 0))
            self._noted[key] = rule, noted + sign * rule.rate(requests)

    def _sum(self, rule: PastUsageRule, queue: QueueKey) -> Sum:
        found = self.sums.get(queue)
        if found is None:
            known = self._remembered.pop(queue, None)
            fits = known is not None and known.key == rule.key
            found = Sum(rule)
            if known is not None and fits:
                # a status of a time to come was written by a clock that was ahead: it must not stand still until then
                at = known.at if self._now is None else min(known.at, self._now)
                found = Sum(rule, known.consumed, at, idle_since=at)
                if rule.by_user:
                    self._users[queue] = {name: Sum(rule, used, at) for name, used in known.users.items()}
            self.sums[queue] = found
        return found

    def _sums(self, rule: PastUsageRule, queue: QueueKey, user: str) -> list[Sum]:
        """All that what a user uses counts for."""
        whole = self._sum(rule, queue)
        return [whole, self._users.setdefault(queue, {}).setdefault(user, Sum(rule))] if rule.by_user else [whole]

    def _pass(self, one: Sum) -> None:
        if self._now is not None:
            one.advance(self._now)

    def at(self, now: float, queues: Mapping[QueueKey, LocalQueue]) -> Mapping[QueueKey, PastUsage]:
        """Let it be this time, epoch seconds; return what each LocalQueue of a tree with a half-life is ordered by."""
        if not self._rules:
            return {}
        is_first, righted = self._now is None, self._jumps.advance(int(now), self.so_far)
        self._now = int(now)
        if righted is not None:
            is_first = True
            self._resume_from(righted)
        for (queue, user), (rule, rate) in self._noted.items():
            for one in self._sums(rule, queue, user):
                if not is_first:
                    self._pass(one)
                one.add(rate)  # what runs when we start, or the clock is put right, ran since the sum was written
                self._pass(one)
        self._noted.clear()
        return _AtTheMoment(self, queues)

    def of(self, queue: QueueKey, local: LocalQueue) -> PastUsage | None:
        """Return what a LocalQueue is ordered by; None where its tree has no half-life."""
        rule = self._rules.get(local.cluster_queue)
        if rule is None:
            return None
        self.note(queue, local.cluster_queue)
        whose: Whose = (local.cluster_queue, *queue)
        together: Iterable[QueueKey] = (queue,)
        if rule.by_namespace:
            whose = whose[:2]
            together = self._siblings[local.cluster_queue, queue[0]]
        sums = [self._sum(rule, one) for one in together]
        for one in sums:
            self._pass(one)
        users = None
        if rule.by_user:
            users = _Users([self._users.get(one, {}) for one in together], rule, int(self._now or 0))
        consumed, current = sum(one.consumed for one in sums), sum(one.current for one in sums)
        return PastUsage(rule, consumed, current, local.weight, users, whose)

    def users(self, queue: QueueKey, cluster_queue: str) -> list[dict[str, str]] | None:
        """Return what the status says of the queue's users; None where they are not told apart."""
        rule = self._rules.get(cluster_queue)
        if rule is None or not rule.by_user or self._now is None:
            return None
        sums = self._users.get(queue, {})
        for name, one in list(sums.items()):
            self._pass(one)
            if one.is_forgotten:
                del sums[name]
        return users_said(sums)

    def tells_users(self, cluster_queue: str) -> bool:
        """Say whether users are told apart there."""
        rule = self._rules.get(cluster_queue)
        return rule is not None and rule.by_user

    def is_said(self, queue: QueueKey, until: float) -> bool:
        """Say whether what was right at that time, epoch seconds, still tells all: nothing is used, nor was since.

        What is said of a time to come does not.
        """
        one = self.sums.get(queue)
        return one is not None and not one.current and one.idle_since <= until <= (self._now or 0)

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
        self._known: dict[QueueKey, PastUsage] = {}
        self._by_whose: dict[tuple[str, str], PastUsage] = {}

    def __getitem__(self, queue: QueueKey) -> PastUsage:
        found = self._known.get(queue)
        if found is None:
            found = self._known[queue] = self._find(queue)
        return found

    def _find(self, queue: QueueKey) -> PastUsage:
        """Add up a namespace once, however many LocalQueues it has."""
        local = self._queues[queue]
        alike = self._by_whose.get((local.cluster_queue, queue[0]))
        if alike is not None:
            return replace(alike, weight=local.weight)
        found = self._book.of(queue, local)
        if found is None:
            raise KeyError(queue)
        if found.rule.by_namespace:
            self._by_whose[local.cluster_queue, queue[0]] = found
        return found

    def __iter__(self) -> Iterator[QueueKey]:
        return (queue for queue in self._queues if queue in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)


class _Users(Mapping[str, PastUsage]):
    """The users of some LocalQueues together, brought forward only for whom a decision asks."""

    def __init__(self, sums: Sequence[Mapping[str, Sum]], rule: PastUsageRule, now: int) -> None:
        self._sums = sums
        self._rule = rule
        self._now = now

    def __getitem__(self, user: str) -> PastUsage:
        theirs = [queue[user] for queue in self._sums if user in queue]
        if not theirs:
            raise KeyError(user)
        for one in theirs:
            one.advance(self._now)
        consumed, current = sum(one.consumed for one in theirs), sum(one.current for one in theirs)
        return PastUsage(self._rule, consumed, current)

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys(user for queue in self._sums for user in queue))

    def __len__(self) -> int:
        return sum(1 for _ in self)
