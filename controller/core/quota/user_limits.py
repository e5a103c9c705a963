"""What each user may use at most of a queue and all below it, whichever flavor it is of.

The user is whom admission saw create the pod's controlling owner, or the pod (`keys.USER`); an empty name stands for
all whose user nobody knows, who share one limit.
"""

from __future__ import annotations

from collections.abc import Mapping

from controller.core.kubernetes.amounts import Requests, plus
from controller.core.quota.quota_tree import QuotaTree
from controller.core.reasons import Reason
from controller.core.workloads.decisions import Blocker
from controller.core.workloads.workload import WorkloadClass

UserKey = tuple[str, str, str]
"""(cluster queue, user, resource)."""


class UserUsage:
    """What users use at each queue that limits them; other queues cost nothing. Beginning from sums left unchanged."""

    def __init__(self, tree: QuotaTree, base: Mapping[UserKey, int] | None = None) -> None:
        self._tree = tree
        self._base = base or {}
        self.sums: dict[UserKey, int] = {}
        self._limiting: dict[str, bool] = {}

    def is_limiting(self, queue: str) -> bool:
        """Say whether the queue or one above it limits users; most do not, and every look at a class asks."""
        known = self._limiting.get(queue)
        if known is None:
            known = self._limiting[queue] = any(self._tree.user_limits(name) for name in self._tree.path(queue))
        return known

    def used(self, queue: str, user: str, resource: str) -> int:
        """Return what a user uses of the queue and all below it."""
        key = (queue, user, resource)
        return self._base.get(key, 0) + self.sums.get(key, 0)

    def add(self, queue: str, user: str, requests: Requests, times: int = 1) -> None:
        """Charge requests of a pod of the queue to its user, or with -1 take them back."""
        for name in self._tree.path(queue) if self.is_limiting(queue) else ():
            limits = self._tree.user_limits(name)
            for resource, need in requests if limits else ():
                if resource in limits:
                    self._shift((name, user, resource), times * need)

    def _shift(self, key: UserKey, amount: int) -> None:
        total = self.sums.get(key, 0) + amount
        if total:
            self.sums[key] = total
        else:
            self.sums.pop(key, None)

    def blocker(self, queue: str, user: str, requests: Requests) -> Blocker | None:
        """Return the first limit, from the queue upwards, that does not allow the user these too; None: all do.

        What no waiting would change is told before what is short for now.
        """
        short: Blocker | None = None
        for name in self._tree.path(queue):
            limits = self._tree.user_limits(name)
            for resource, need in requests if limits else ():
                most = limits.get(resource)
                if most is None:
                    continue
                if need > most and not self._tree.is_user_limit_changing(name, resource):
                    detail = f"more than {name} gives each user"
                    return Blocker("", Reason.NEVER_FITS, resource, need, most, detail, name, user)
                free = most - self.used(name, user, resource)
                if need > free and short is None:
                    short = Blocker("", Reason.USER_LIMIT, resource, need, free, at=name, user=user)
        return short

    def first_blocker(self, queue: str, kind: WorkloadClass) -> Blocker | None:
        """Return the first limit that does not allow a workload, whose pods may be of several users."""
        if not self.is_limiting(queue):
            return None
        by_user: dict[str, list[Requests]] = {}
        for one in kind.pod_sets:
            by_user.setdefault(one.shape.user, []).append(one.requests)
        found = (self.blocker(queue, user, many[0] if len(many) == 1 else plus(many)) for user, many in by_user.items())
        return next((one for one in found if one is not None), None)
