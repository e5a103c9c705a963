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
    Column("Mode", ".spec.mode", "string", "Whether pods are changed, or only what would be changed is told"),
    Column("Target", ".spec.target", "string", "What is changed: pods, or the templates that they are made from"),
    Column("Pods", ".status.pods", "integer", "Pods that carry the policy"),
    active("Whether the policy works as it is written"),
    Column("Priority", ".spec.priority", "integer", "Which of several policies goes first; none means 0"),
    Column("On-Conflict", ".spec.onConflict", "string", "What happens where a pod says otherwise", priority=1),
    Column("Scheduler", ".spec.schedulerName", "string", "The scheduler that pods are given", priority=1),
    AGE,
)


class PodSchedulingPolicySpec(Model):
    """Which pods are given what when they are created."""

    pod_selector: Annotated[
        LabelSelector | None,
        Field(description="The pods, by label. Left out or null: none. Empty, {}: all."),
        SchemaKeys(nullable=True),
    ] = None
    priority: Annotated[
        StrictInt,
        Field(
            description="Greater goes first, then the name decides; cluster-wide policies go before namespaced ones. "
            "Of two that contradict each other the first wins.",
            ge=-1_000_000_000,
            le=1_000_000_000,
        ),
        SchemaKeys(format="int32"),
    ] = 0
    on_conflict: Annotated[
        Literal["PodWins", "Reject"],
        Field(
            description="Where the pod, or a policy before this one, says otherwise. PodWins (default): that part of "
            "this policy is left out, with a warning. Reject: the pod is refused."
        ),
    ] = "PodWins"
    mode: Annotated[
        Literal["Enforce", "Warn", "Audit"],
        Field(
            description="Enforce (default): pods are changed. Warn: whoever creates one is told what would be changed. "
            "Audit: only the audit log and the metrics are told."
        ),
    ] = "Enforce"
    target: Annotated[
        Literal["Pods", "PodTemplates"],
        Field(
            description="Pods (default): pods are changed when they are created, whoever makes them. PodTemplates: the "
            "templates in Deployments, StatefulSets, DaemonSets, ReplicaSets, ReplicationControllers, Jobs and "
            "CronJobs are changed when they are written, by their own labels; pods without a template are not."
        ),
    ] = "Pods"
    node_selector: Annotated[
        Labels, Field(description="Labels that the node must have; each is added where the pod has no such key.")
    ] = Field(default_factory=dict)
    node_name: Annotated[
        Subdomain | None,
        Field(
            description="The node, past the scheduler. A pod that waits at a gate is given a required node affinity "
            "on the node's name instead."
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
    """Which pods of which namespaces are given what when they are created."""

    namespace_selector: Annotated[
        LabelSelector | None,
        Field(description="The namespaces, by label. Left out or null: none. Empty, {}: all."),
        SchemaKeys(nullable=True),
    ] = None


class PodSchedulingPolicyStatus(Status):
    """What Penstock sees of the policy."""

    pods: Annotated[Count, Field(description="How many pods there are now, ended ones too, that carry the policy.")] = 0
    conditions: Conditions = ()


class PodSchedulingPolicy(Resource):
    """What pods of this namespace are told about where to run when they are created."""

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
    """What pods of many namespaces are told about where to run when they are created."""

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
