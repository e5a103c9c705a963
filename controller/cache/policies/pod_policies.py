"""The pod scheduling policies that there are, for the webhook: the controller decides nothing by them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from controller.core.pod_policies.policies import Policy, Target, order_key
from controller.kube.wire import Owned
from controller.objects.pod_policies import Key, ReadPolicy


class Policies:
    """The policies of both kinds, kept by two informers. A faulty one is in effect for nobody, and reported."""

    def __init__(self, report: Callable[[str], None], *, most_kept: int = 20_000) -> None:
        """`most_kept`: of so many namespaces the answers are kept.

        At 8 bytes a policy and namespace they are cheap, and those of deleted namespaces must go.
        """
        self._report, self._most_kept = report, most_kept
        self.faults: dict[Key, str] = {}
        """Those that are in effect for nobody, and why."""
        self._known: dict[Key, Policy] = {}
        self._in_order: tuple[Policy, ...] = ()
        self._reaching: dict[tuple[Target, str], tuple[Mapping[str, str], tuple[Policy, ...]]] = {}

    def of(self, namespace: str, labels: Mapping[str, str], target: Target = Target.PODS) -> tuple[Policy, ...]:
        """Those for pods, or templates, that reach this namespace with these labels, in order.

        They are kept, for most pods are no namespace's first.
        """
        known = self._reaching.get((target, namespace))
        if known is not None and known[0] == labels:
            return known[1]
        if len(self._reaching) >= self._most_kept:
            self._reaching.clear()
        reaching = tuple(one for one in self._in_order if one.target is target and one.reaches(namespace, labels))
        self._reaching[target, namespace] = (labels, reaching)
        return reaching

    def existing(self) -> set[Key]:
        """All there are, those that are in effect for nobody too."""
        return {*self._known, *self.faults}

    def put(self, read: ReadPolicy) -> None:
        """One is new or changed; most changes are of its status, which is the controller's."""
        if read.policy is None or self._known.get(read.key) != read.policy:
            self._set(read)
            self._sort()

    def drop(self, key: Key) -> None:
        """One is gone."""
        self._known.pop(key, None)
        self.faults.pop(key, None)
        self._sort()

    def replace(self, reads: Iterable[ReadPolicy], *, cluster_wide: bool) -> None:
        """All there are of one kind."""
        self._known = {key: policy for key, policy in self._known.items() if (key[0] == "") is not cluster_wide}
        self.faults = {key: fault for key, fault in self.faults.items() if (key[0] == "") is not cluster_wide}
        for read in reads:
            self._set(read)
        self._sort()

    def _set(self, read: ReadPolicy) -> None:
        if read.policy is not None:
            self._known[read.key] = read.policy
            self.faults.pop(read.key, None)
            return
        self._known.pop(read.key, None)
        self.faults[read.key] = read.fault or ""
        self._report(read.fault or "")

    def _sort(self) -> None:
        self._in_order = tuple(sorted(self._known.values(), key=order_key))
        self._reaching.clear()


class PolicySink:
    """One kind's way into `Policies`."""

    def __init__(self, policies: Policies, *, cluster_wide: bool) -> None:
        self._policies = policies
        self._cluster_wide = cluster_wide
        self.upsert = policies.put

    def replace(self, items: Iterable[ReadPolicy]) -> None:
        """All there are of the kind."""
        self._policies.replace(items, cluster_wide=self._cluster_wide)

    def remove(self, gone: Owned) -> None:
        """One is gone."""
        self._policies.drop(gone.key)
