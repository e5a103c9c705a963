"""Blocked classes by the quota that they are short of: what comes free opens those whose need it meets, and no more."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Collection, Iterator
from itertools import count
from typing import NamedTuple

from controller.cache.usage import Usage
from controller.core.quota.quota_tree import QuotaTree
from controller.core.reasons import QUOTA_REASONS, Reason
from controller.core.workloads.decisions import Wait
from controller.core.workloads.workload import WorkloadClass


class _Quota(NamedTuple):
    """What is short: as in `Blocker`; `user` None where it is no user's limit."""

    at: str
    flavor: str
    resource: str
    user: str | None


class Shortages:
    """By cluster queue, and by what is short there, its classes with the least need first."""

    def __init__(self) -> None:
        self._lines: dict[str, dict[_Quota, list[tuple[int, int, WorkloadClass]]]] = {}
        self._known: dict[WorkloadClass, list[tuple[str, _Quota, int, int]]] = {}
        self._numbers = count()

    def put(self, kind: WorkloadClass, queue: str, wait: Wait) -> None:
        """Take in what a class of a cluster queue is short of, of which nothing is known."""
        for one in wait.blockers:
            if one.reason not in QUOTA_REASONS or one.resource is None:
                continue
            what = _Quota(one.at, one.flavor, one.resource, one.user if one.reason is Reason.USER_LIMIT else None)
            number = next(self._numbers)
            insort(self._lines.setdefault(queue, {}).setdefault(what, []), (one.need, number, kind))
            self._known.setdefault(kind, []).append((queue, what, one.need, number))

    def drop(self, kind: WorkloadClass) -> None:
        """Forget a class."""
        for queue, what, need, number in self._known.pop(kind, ()):
            line = self._lines[queue][what]
            del line[bisect_left(line, (need, number))]
            if not line:
                del self._lines[queue][what]
            if not self._lines[queue]:
                del self._lines[queue]

    def met(self, queue: str, flavors: Collection[str], tree: QuotaTree, usage: Usage) -> Iterator[WorkloadClass]:
        """Yield the classes of a queue whose need there is quota for now, since some of these flavors came free."""
        for what, line in self._lines.get(queue, {}).items():
            if what.flavor and what.flavor not in flavors:
                continue
            left = _left(what, queue, tree, usage)
            for need, _, kind in line:
                if need > left:
                    break
                yield kind


def _left(what: _Quota, queue: str, tree: QuotaTree, usage: Usage) -> int:
    if what.user is not None:
        most = tree.user_limits(what.at).get(what.resource, 0)
        return most - usage.by_user.used(what.at, what.user, what.resource)
    if not what.flavor:
        most = tree.limits(what.at).get(what.resource, 0)
        return most - usage.in_tree.used(what.at, "", what.resource)
    return usage.in_tree.available(queue, (what.flavor, what.resource)).amount
