"""The SchedulingPolicies of a live cluster, as they are for each service account.

Kept by informers of the policies, of RBAC objects and of PriorityClasses; no review asks the apiserver about rights.
Accounts with the same rights share one merged value, which is kept until a policy changes: at most 1,024 of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from controller.cache.policies.access import Access
from controller.cache.policies.scheduling_policies import SchedulingPolicies
from controller.core.kubernetes.priority_classes import PriorityClass, default_of
from controller.core.scheduling_policies.levels import Levels, levels
from controller.core.scheduling_policies.policy import MergeOption
from controller.core.scheduling_policies.rbac import ALL, Usable
from controller.kube.wire import Owned

KEPT_MOST: Final = 1024


class PriorityClasses:
    """All PriorityClasses, of which only the default one matters."""

    def __init__(self) -> None:
        self.default = ""
        """Its name; empty where there is none."""
        self._classes: dict[str, PriorityClass] = {}

    def replace(self, items: Iterable[PriorityClass]) -> None:
        """All classes there are."""
        self._classes = {item.name: item for item in items}
        self.default = default_of(self._classes.values())

    def upsert(self, item: PriorityClass) -> None:
        """One class is new or changed."""
        self._classes[item.name] = item
        self.default = default_of(self._classes.values())

    def remove(self, gone: Owned) -> None:
        """One class is gone."""
        self._classes.pop(gone.name, None)
        self.default = default_of(self._classes.values())


class AccountPolicies:
    """What the pods of an account must, may and by default do."""

    def __init__(self, option: MergeOption, report: Callable[[str], None] = lambda _: None) -> None:
        """`report` is told of policies that are faulty."""
        self.policies = SchedulingPolicies(report)
        self.access = Access()
        self.priority_classes = PriorityClasses()
        self._option = option
        self._merged: dict[Usable, Levels] = {}
        self._version = self.policies.version

    def of(self, namespace: str, account: str) -> Levels:
        """Return the levels at which there is something to do for pods of this account; none without any policy."""
        if self._version != self.policies.version or len(self._merged) > KEPT_MOST:
            self._version = self.policies.version
            self._merged.clear()
        usable = self.access.usable(namespace, account)
        known = self._merged.get(usable)
        if known is None:
            valid, faulty = self.policies.valid, self.policies.faulty
            names = {*(one.name for one in valid), *(one.name for one in faulty)} if usable is ALL else usable
            known = self._merged[usable] = levels(valid, names, self._option, faulty)
        return known
