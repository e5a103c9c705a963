"""A pod as SchedulingPolicies see it: what it uses, and what of that nobody had to ask for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from controller.core.kubernetes.directives import Directives
from controller.core.kubernetes.labels import Operator, Requirement
from controller.core.kubernetes.node_terms import NODE_NAME_FIELD
from controller.core.kubernetes.taints import Toleration

_GRACE_SECONDS: Final = 300
APISERVER_TOLERATIONS: Final = frozenset(
    Toleration(f"node.kubernetes.io/{taint}", "Exists", "", "NoExecute", _GRACE_SECONDS)
    for taint in ("not-ready", "unreachable")
)
"""Given by the DefaultTolerationSeconds admission to every pod that has none for these taints, with its own default."""

DAEMON_TOLERATIONS: Final = frozenset(
    Toleration(f"node.kubernetes.io/{taint}", "Exists", "", effect)
    for taint, effect in (
        ("not-ready", "NoExecute"),
        ("unreachable", "NoExecute"),
        ("disk-pressure", "NoSchedule"),
        ("memory-pressure", "NoSchedule"),
        ("pid-pressure", "NoSchedule"),
        ("unschedulable", "NoSchedule"),
        ("network-unavailable", "NoSchedule"),
    )
)
"""Mirrors AddOrUpdateDaemonPodTolerations of k8s.io/kubernetes/pkg/controller/daemon/util."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exempt:
    """What on a pod is no use made of anything, so needs no permission: the cluster gave it by itself.

    `priority_class` is the name of the global default PriorityClass, given to every pod that names none. Selector and
    tolerations are those of the pod's RuntimeClass, as the class has them. `is_daemon_set_pod`: the daemon set
    controller made the pod, and named its node and tolerated its taints.
    """

    priority_class: str = ""
    node_selector: frozenset[tuple[str, str]] = frozenset()
    tolerations: tuple[Toleration, ...] = ()
    is_daemon_set_pod: bool = False

    def covers(self, toleration: Toleration) -> bool:
        """Say whether the pod has this toleration without having asked for it."""
        if toleration in APISERVER_TOLERATIONS:
            return True
        if self.is_daemon_set_pod and toleration in DAEMON_TOLERATIONS:
            return True
        # a class may leave the operator out, which on the pod is written out
        return any(replace(one, operator=one.operator or "Equal") == toleration for one in self.tolerations)

    def is_node_of_daemon(self, requirement: Requirement) -> bool:
        """Say whether this requirement on a node's fields is the one that the daemon set controller wrote."""
        return self.is_daemon_set_pod and (requirement.key, requirement.operator) == (NODE_NAME_FIELD, Operator.IN)


NOTHING_EXEMPT: Final = Exempt()


@dataclass(frozen=True, slots=True, kw_only=True)
class Pod:
    """What a pod says about where and how it runs. Empty: it names none, or of schedulers the default one."""

    directives: Directives = field(default_factory=Directives)
    priority_class: str = ""
    runtime_class: str = ""
    exempt: Exempt = NOTHING_EXEMPT

    def used_tolerations(self) -> Iterator[tuple[int, Toleration]]:
        """The tolerations that it uses, each with its place in the list."""
        for index, toleration in enumerate(self.directives.tolerations):
            if not self.exempt.covers(toleration):
                yield index, toleration

    @property
    def requires_nodes(self) -> bool:
        """Whether it has required node affinity of its own; an empty term, which no node meets, is its own too."""
        return any(
            term.is_empty or term.expressions or not all(map(self.exempt.is_node_of_daemon, term.fields))
            for term in self.directives.required or ()
        )

    @property
    def uses_node_affinity(self) -> bool:
        """Whether it has required or preferred node affinity of its own."""
        return bool(self.directives.preferred) or self.requires_nodes
