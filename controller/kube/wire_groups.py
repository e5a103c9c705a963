"""PodGroups of scheduling.k8s.io as the apiserver writes them, as far as they are read."""

from __future__ import annotations

from msgspec import Raw, Struct, field

from controller.kube.wire import Owned


class GangPolicy(Struct, rename="camel"):
    """scheduling.k8s.io GangSchedulingPolicy."""

    min_count: int


class GroupPolicy(Struct):
    """scheduling.k8s.io PodGroupSchedulingPolicy; without `gang` its pods are scheduled one by one."""

    gang: GangPolicy | None = None


class TopologyConstraint(Struct):
    """scheduling.k8s.io TopologyConstraint."""

    key: str


class GroupConstraints(Struct):
    """scheduling.k8s.io PodGroupSchedulingConstraints."""

    topology: list[TopologyConstraint] | None = None


class DisruptionMode(Struct):
    """scheduling.k8s.io DisruptionMode; without `all` its pods are disrupted one by one. In v1alpha2 it is a word."""

    all: Raw = Raw()


class PodGroupSpec(Struct, rename="camel"):
    """scheduling.k8s.io PodGroupSpec."""

    scheduling_policy: GroupPolicy = field(default_factory=GroupPolicy)
    scheduling_constraints: GroupConstraints | None = None
    disruption_mode: DisruptionMode | str | None = None
    priority: int | None = None
    priority_class_name: str | None = None
    preemption_policy: str | None = None
    parent_composite_pod_group_name: str | None = None
    resource_claims: Raw = Raw()


class PodGroupObject(Struct):
    """scheduling.k8s.io PodGroup, as in v1alpha2 (1.36), v1alpha3 and v1beta1 (1.37); the older have fewer fields."""

    metadata: Owned
    spec: PodGroupSpec
