"""Classes that an earlier decision found blocked, and what came free since: what need not be looked at again."""

from __future__ import annotations

from collections.abc import Iterable

from controller.cache.usage import Usage
from controller.core.decisions import Blocker, Wait
from controller.core.quota_tree import QuotaTree
from controller.core.reasons import QUOTA_REASONS, Reason
from controller.core.workloads import WorkloadClass


class Blocked:
    """`waits` holds the arithmetic of each blocked class, `freed` the nodes that have more room now."""

    def __init__(self) -> None:
        self.waits: dict[WorkloadClass, Wait] = {}
        self.freed: set[str] = set()

    def open(self, kinds: Iterable[WorkloadClass]) -> None:
        """Let these be looked at again."""
        for kind in kinds:
            self.waits.pop(kind, None)

    def open_later(self) -> None:
        """Let those be looked at again that wait for a later flavor: the earlier ones may never take them now."""
        self.open([kind for kind, wait in self.waits.items() if wait.later is not None])

    def open_for_quota(
        self, kinds: Iterable[WorkloadClass], queue: str, flavor: str, tree: QuotaTree, usage: Usage
    ) -> None:
        """Let those of a queue's classes be looked at again whose need there is quota for now, since some came free."""
        for kind in kinds:
            wait = self.waits.get(kind)
            if wait is not None and any(_is_gone(one, queue, flavor, tree, usage) for one in wait.blockers):
                del self.waits[kind]


def _is_gone(blocker: Blocker, queue: str, flavor: str, tree: QuotaTree, usage: Usage) -> bool:
    if blocker.booking is not None:
        return blocker.flavor in ("", flavor)
    if blocker.reason not in QUOTA_REASONS or blocker.resource is None:
        return False
    if blocker.reason is Reason.USER_LIMIT:
        most = tree.user_limits(blocker.at).get(blocker.resource, 0)
        return blocker.need <= most - usage.by_user.used(blocker.at, blocker.user, blocker.resource)
    if not blocker.flavor:
        most = tree.limits(blocker.at).get(blocker.resource, 0)
        return blocker.need <= most - usage.in_tree.used(blocker.at, "", blocker.resource)
    if blocker.flavor != flavor:
        return False
    return blocker.need <= usage.in_tree.available(queue, (flavor, blocker.resource)).amount
