"""Pod scheduling policies as written (`controller.api`) to what is merged into pods (`controller.core`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from msgspec import Raw

from controller.api.parse import InvalidObject, parse_cluster_pod_scheduling_policy, parse_pod_scheduling_policy
from controller.api.pod_policy import ClusterPodSchedulingPolicy, PodSchedulingPolicy
from controller.core.kubernetes.directives import Directives
from controller.core.kubernetes.taints import Toleration
from controller.core.pod_policies.policies import Mode, OnConflict, Policy, Target
from controller.kube.decode_ours import decode_ours
from controller.objects.affinities import to_node_affinity, to_pod_terms
from controller.objects.queues import to_selector

Key = tuple[str, str]
"""(namespace, name); cluster-wide policies have an empty namespace."""

WrittenPolicy = PodSchedulingPolicy | ClusterPodSchedulingPolicy


@dataclass(frozen=True, slots=True)
class ReadPolicy:
    """A policy off the wire: without `policy` it breaks the rules of its kind, and `fault` says how."""

    key: Key
    policy: Policy | None
    fault: str | None = None


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
