"""The SchedulingPolicies that there are, for the webhook: the controller only tells whether they are valid."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from controller.core.scheduling_policies.policy import Faulty, Policy
from controller.kube.wire import Owned
from controller.objects.scheduling_policies import ReadSchedulingPolicy


class SchedulingPolicies:
    """All SchedulingPolicies there are, kept by an informer. A faulty one gives and allows nothing, and is reported.

    `version` is another number whenever something is different: what was worked out from the policies can be kept
    while it stays the same.
    """

    def __init__(self, report: Callable[[str], None]) -> None:
        self._report = report
        self._known: dict[str, ReadSchedulingPolicy] = {}
        self.version = 0
        self.valid: tuple[Policy, ...] = ()
        self.faulty: tuple[Faulty, ...] = ()

    def replace(self, items: Iterable[ReadSchedulingPolicy]) -> None:
        """All there are."""
        former, self._known = self._known, {item.name: item for item in items}
        for item in self._known.values():
            self._tell(item, former.get(item.name))
        self._sort()

    def upsert(self, item: ReadSchedulingPolicy) -> None:
        """One is new or changed; many changes are of its status, which is the controller's."""
        former = self._known.get(item.name)
        if former == item:
            return
        self._known[item.name] = item
        self._tell(item, former)
        self._sort()

    def remove(self, gone: Owned) -> None:
        """One is gone."""
        self._known.pop(gone.name, None)
        self._sort()

    def _tell(self, item: ReadSchedulingPolicy, former: ReadSchedulingPolicy | None) -> None:
        if item.fault is not None and item != former:
            self._report(item.fault)

    def _sort(self) -> None:
        self.version += 1
        in_order = [self._known[name] for name in sorted(self._known)]
        self.valid = tuple(one.policy for one in in_order if one.policy is not None)
        self.faulty = tuple(Faulty(one.name, one.mode) for one in in_order if one.policy is None)
