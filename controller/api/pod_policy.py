"""PodSchedulingPolicy and ClusterPodSchedulingPolicy as they are written: which pods, and what they are given.

The spec is kupid's (kupid.gardener.cloud/v1alpha1) with `priority`, `onConflict`, `mode` and `target` besides.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, StrictInt

from controller.api.base import AGE, Column, Conditions, Count, Definition, Metadata, Model, Resource, Status, active
from controller.api.nodes import LabelSelector, Toleration
from controller.api.placement import Affinity
from controller.api.rules import SchemaKeys
from controller.api.values import Labels, Subdomain

_ATOMIC = SchemaKeys(x_kubernetes_list_type="atomic")
_COLUMNS = (
    Column("Mode", ".spec.mode", "string", "Whether the policy changes pods, or only reports what it would change"),
    Column(
        "Target", ".spec.target", "string", "What the policy changes: pods, or the templates that they are created from"
    ),
    Column("Pods", ".status.pods", "integer", "Pods that carry the policy"),
    active("Whether the policy is in effect as written"),
    Column("Priority", ".spec.priority", "integer", "Policies with a greater priority are applied first; none means 0"),
    Column("On-Conflict", ".spec.onConflict", "string", "What happens if a pod contradicts the policy", priority=1),
    Column("Scheduler", ".spec.schedulerName", "string", "The scheduler that pods are given", priority=1),
    AGE,
)


class PodSchedulingPolicySpec(Model):
    """The pods that the policy selects, and what it adds to them."""

    pod_selector: Annotated[
        LabelSelector | None,
        Field(description="The pods, by label. Left out or null: none. Empty, {}: all."),
        SchemaKeys(nullable=True),
    ] = None
    priority: Annotated[
        StrictInt,
        Field(
            description="Policies with a greater priority are applied first, then by name; cluster-wide policies "
            "come before namespaced ones. Of two policies that contradict each other, the first wins.",
            ge=-1_000_000_000,
            le=1_000_000_000,
        ),
        SchemaKeys(format="int32"),
    ] = 0
    on_conflict: Annotated[
        Literal["PodWins", "Reject"],
        Field(
            description="What happens if the pod, or a policy before this one, contradicts this policy. PodWins "
            "(default): that part of this policy is left out, with a warning. Reject: the pod is "
            "refused."
        ),
    ] = "PodWins"
    mode: Annotated[
        Literal["Enforce", "Warn", "Audit"],
        Field(
            description="Enforce (default): pods are changed. Warn: whoever creates a pod gets a warning that "
            "says what would be changed. Audit: only the audit log and the metrics report it."
        ),
    ] = "Enforce"
    target: Annotated[
        Literal["Pods", "PodTemplates"],
        Field(
            description="Pods (default): pods are changed when they are created, whoever creates them. "
            "PodTemplates: the "
            "templates in Deployments, StatefulSets, DaemonSets, ReplicaSets, ReplicationControllers, Jobs and "
            "CronJobs are changed when they are written, by their own labels; pods without a template are not."
        ),
    ] = "Pods"
    node_selector: Annotated[
        Labels, Field(description="Labels that the node must have; each is added if the pod does not have the key.")
    ] = Field(default_factory=dict)
    node_name: Annotated[
        Subdomain | None,
        Field(
            description="The node; kube-scheduler is bypassed. A pod with a scheduling gate gets a required node "
            "affinity to the node's name instead."
        ),
    ] = None
    scheduler_name: Annotated[
        Subdomain | None,
        Field(description="The scheduler, for pods that name none or default-scheduler."),
    ] = None
    affinity: Annotated[
        Affinity | None,
        Field(description="Added to the pod's own. Of required node affinities, one alternative of each must hold."),
    ] = None
    tolerations: Annotated[
        tuple[Toleration, ...], Field(description="Added to the pod's own.", max_length=32), _ATOMIC
    ] = ()


class ClusterPodSchedulingPolicySpec(PodSchedulingPolicySpec):
    """The pods that the policy selects, and what it adds to them."""

    namespace_selector: Annotated[
        LabelSelector | None,
        Field(description="The namespaces, by label. Left out or null: none. Empty, {}: all."),
        SchemaKeys(nullable=True),
    ] = None


class PodSchedulingPolicyStatus(Status):
    """The observed state of the policy."""

    pods: Annotated[Count, Field(description="How many existing pods, including ended ones, carry the policy.")] = 0
    conditions: Conditions = ()


class PodSchedulingPolicy(Resource):
    """Where pods of this namespace run; added to the pods when they are created."""

    definition: ClassVar[Definition] = Definition(
        kind="PodSchedulingPolicy",
        plural="podschedulingpolicies",
        short_name="ppsp",
        namespaced=True,
        columns=_COLUMNS,
        is_label_value=False,
    )

    kind: Literal["PodSchedulingPolicy"] = "PodSchedulingPolicy"
    metadata: Metadata
    spec: PodSchedulingPolicySpec
    status: PodSchedulingPolicyStatus = PodSchedulingPolicyStatus()


class ClusterPodSchedulingPolicy(Resource):
    """Where pods of many namespaces run; added to the pods when they are created."""

    definition: ClassVar[Definition] = Definition(
        kind="ClusterPodSchedulingPolicy",
        plural="clusterpodschedulingpolicies",
        short_name="pcpsp",
        namespaced=False,
        columns=_COLUMNS,
        is_label_value=False,
    )

    kind: Literal["ClusterPodSchedulingPolicy"] = "ClusterPodSchedulingPolicy"
    metadata: Metadata
    spec: ClusterPodSchedulingPolicySpec
    status: PodSchedulingPolicyStatus = PodSchedulingPolicyStatus()
