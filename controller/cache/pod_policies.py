"""Pod scheduling policies as written (`controller.api`) to what is merged into pods (`controller.core`), and kept.

The store is the webhook's: the controller decides nothing by policies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from msgspec import Raw

from controller.api.parse import InvalidObject, parse_cluster_pod_scheduling_policy, parse_pod_scheduling_policy
from controller.api.pod_policy import ClusterPodSchedulingPolicy, PodSchedulingPolicy
from controller.cache.affinities import to_node_affinity, to_pod_terms
from controller.cache.objects import to_selector
from controller.core.kubernetes.directives import Directives
from controller.core.kubernetes.taints import Toleration
from controller.core.policies.pod_policies import Mode, OnConflict, Policy, Target, order_key
from controller.kube.decode_ours import decode_ours
from controller.kube.wire import Owned

Key = tuple[str, str]
"""(namespace, name); cluster-wide policies have an empty namespace."""

_NAMESPACES_MOST = 20_000
"""Whose policies are kept; at 8 bytes a policy and namespace the most are cheap, and deleted namespaces must go."""

WrittenPolicy = PodSchedulingPolicy | ClusterPodSchedulingPolicy


@dataclass(frozen=True, slots=True)
class ReadPolicy:
    """A policy off the wire: without `policy` it breaks the rules of its kind, and `fault` says how."""

    key: Key
    policy: Policy | None
    fault: str | None = None


class Policies:
    """The policies of both kinds, kept by two informers. A faulty one is in effect for nobody, and reported."""

    def __init__(self, report: Callable[[str], None]) -> None:
        self._report = report
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
        if len(self._reaching) >= _NAMESPACES_MOST:
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


def read_policy(raw: Raw) -> ReadPolicy:
    """Read a PodSchedulingPolicy."""
    return _read(raw, parse_pod_scheduling_policy)


def read_cluster_policy(raw: Raw) -> ReadPolicy:
    """Read a ClusterPodSchedulingPolicy."""
    return _read(raw, parse_cluster_pod_scheduling_policy)


def _read(raw: Raw, parse: Callable[[dict[str, Any]], WrittenPolicy]) -> ReadPolicy:
    document, metadata = decode_ours(raw, "a policy")
    # items of a list carry no kind of their own
    whole: dict[str, Any] = {name: document[name] for name in ("metadata", "spec") if name in document}
    try:
        return ReadPolicy(metadata.key, to_policy(parse(whole)))
    except InvalidObject as error:
        return ReadPolicy(metadata.key, None, str(error))


def to_policy(written: WrittenPolicy) -> Policy:
    """Return the policy as it is merged into pods."""
    spec = written.spec
    namespaces = written.spec.namespace_selector if isinstance(written, ClusterPodSchedulingPolicy) else None
    required, preferred = to_node_affinity(spec.affinity)
    return Policy(
        name=written.metadata.name,
        namespace=written.metadata.namespace,
        priority=spec.priority,
        on_conflict=OnConflict(spec.on_conflict),
        mode=Mode(spec.mode),
        target=Target(spec.target),
        pods=to_selector(spec.pod_selector),
        namespaces=to_selector(namespaces),
        directives=Directives(
            node_selector=tuple(sorted(spec.node_selector.items())),
            node_name=spec.node_name or "",
            scheduler_name=spec.scheduler_name or "",
            tolerations=tuple(
                Toleration(t.key, t.operator, t.value, t.effect, t.toleration_seconds) for t in spec.tolerations
            ),
            required=required,
            preferred=preferred,
            pod_terms=to_pod_terms(spec.affinity),
        ),
    )
