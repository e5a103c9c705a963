"""The parts of Kubernetes objects that we read, as they are on the wire. msgspec skips all other bytes.

Parts that repeat from pod to pod (resources, affinity, tolerations) stay raw: equal bytes are looked up, not decoded
again (`controller.kube.decode`). Nothing outside this room sees these types.
"""

from __future__ import annotations

from msgspec import Raw, Struct, field


class Owned(Struct, rename="camel"):
    """metav1.ObjectMeta."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None

    @property
    def key(self) -> tuple[str, str]:
        """(namespace, name); the namespace is empty where the kind has none."""
        return self.namespace, self.name


class OwnerReference(Struct, rename="camel"):
    """metav1.OwnerReference."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None


class PodMeta(Owned, rename="camel"):
    """metav1.ObjectMeta of a pod: with its owners."""

    deletion_grace_period_seconds: int | None = None
    owner_references: list[OwnerReference] | None = None


class OwnedObject(Struct):
    """Any object of which only the metadata matters, with its owners."""

    metadata: PodMeta


class Gate(Struct):
    """core/v1 PodSchedulingGate."""

    name: str = ""


class Container(Struct, rename="camel"):
    """core/v1 Container."""

    name: str = ""
    resources: Raw = Raw()
    restart_policy: str = ""


class PodSpec(Struct, rename="camel"):
    """core/v1 PodSpec."""

    containers: list[Container] = field(default_factory=list)
    init_containers: list[Container] | None = None
    resources: Raw = Raw()
    overhead: Raw = Raw()
    node_name: str | None = None
    node_selector: Raw = Raw()
    affinity: Raw = Raw()
    tolerations: Raw = Raw()
    scheduling_gates: list[Gate] | None = None
    resource_claims: list[PodClaim] | None = None
    priority: int | None = None
    priority_class_name: str | None = None
    preemption_policy: str | None = None
    scheduling_group: SchedulingGroup | None = None
    runtime_class_name: str | None = None
    active_deadline_seconds: int | None = None


class PodClaim(Struct, rename="camel"):
    """core/v1 PodResourceClaim."""

    name: str
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class SchedulingGroup(Struct, rename="camel"):
    """core/v1 PodSchedulingGroup, from Kubernetes 1.36 on."""

    pod_group_name: str = ""


class GatesSpec(Struct, rename="camel"):
    """core/v1 PodSpec, as far as whoever only opens gates reads it."""

    scheduling_gates: list[Gate] | None = None


class GatesObject(Struct):
    """core/v1 Pod, likewise: nothing else about it, however odd, keeps a gate shut."""

    metadata: Owned
    spec: GatesSpec


class Condition(Struct, rename="camel"):
    """core/v1 PodCondition and NodeCondition."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_probe_time: str | None = None
    last_transition_time: str | None = None


class Resources(Struct):
    """core/v1 ResourceRequirements."""

    requests: dict[str, str | int] | None = None
    limits: dict[str, str | int] | None = None


class Terminated(Struct, rename="camel"):
    """core/v1 ContainerStateTerminated."""

    finished_at: str | None = None


class ContainerState(Struct):
    """core/v1 ContainerState."""

    terminated: Terminated | None = None


class ContainerStatus(Struct, rename="camel"):
    """core/v1 ContainerStatus."""

    name: str = ""
    state: ContainerState | None = None
    resources: Resources | None = None
    allocated_resources: dict[str, str | int] | None = None


class PodStatus(Struct, rename="camel"):
    """core/v1 PodStatus."""

    phase: str = ""
    start_time: str | None = None
    conditions: list[Condition] | None = None
    container_statuses: list[ContainerStatus] | None = None
    init_container_statuses: list[ContainerStatus] | None = None
    resources: Resources | None = None
    allocated_resources: dict[str, str | int] | None = None


class PodObject(Struct):
    """core/v1 Pod."""

    metadata: PodMeta
    spec: PodSpec = field(default_factory=PodSpec)
    status: PodStatus = field(default_factory=PodStatus)


class ConditionPattern(Struct):
    """batch/v1 PodFailurePolicyOnPodConditionsPattern."""

    type: str = ""
    status: str | None = None


class FailureRule(Struct, rename="camel"):
    """batch/v1 PodFailurePolicyRule."""

    action: str = ""
    on_exit_codes: Raw = Raw()
    on_pod_conditions: list[ConditionPattern] | None = None


class FailurePolicy(Struct):
    """batch/v1 PodFailurePolicy."""

    rules: list[FailureRule] | None = None


class PodTemplate(Struct):
    """core/v1 PodTemplateSpec."""

    metadata: PodMeta = field(default_factory=PodMeta)
    spec: PodSpec = field(default_factory=PodSpec)


class JobSpec(Struct, rename="camel"):
    """batch/v1 JobSpec. The template is read only of Jobs that are held as a whole."""

    suspend: bool | None = None
    managed_by: str | None = None
    template: Raw = Raw()
    parallelism: int | None = None
    completions: int | None = None
    completion_mode: str | None = None
    backoff_limit: int | None = None
    backoff_limit_per_index: int | None = None
    pod_failure_policy: FailurePolicy | None = None
    active_deadline_seconds: int | None = None


class UncountedPods(Struct):
    """batch/v1 UncountedTerminatedPods."""

    failed: list[str] | None = None


class JobStatus(Struct, rename="camel"):
    """batch/v1 JobStatus."""

    active: int = 0
    succeeded: int = 0
    failed: int = 0
    failed_indexes: str = ""
    uncounted_terminated_pods: UncountedPods | None = None
    start_time: str | None = None
    conditions: list[Condition] | None = None


class JobObject(Struct):
    """batch/v1 Job."""

    metadata: Owned
    spec: JobSpec = field(default_factory=JobSpec)
    status: JobStatus = field(default_factory=JobStatus)


class SelectorRequirement(Struct):
    """core/v1 NodeSelectorRequirement."""

    key: str
    operator: str
    values: list[str] | None = None


class SelectorTerm(Struct, rename="camel"):
    """core/v1 NodeSelectorTerm."""

    match_expressions: list[SelectorRequirement] | None = None
    match_fields: list[SelectorRequirement] | None = None


class PreferredTerm(Struct):
    """core/v1 PreferredSchedulingTerm."""

    weight: int
    preference: SelectorTerm


class NodeSelector(Struct, rename="camel"):
    """core/v1 NodeSelector."""

    node_selector_terms: list[SelectorTerm] | None = None


class NodeAffinity(Struct):
    """core/v1 NodeAffinity."""

    required: NodeSelector | None = field(name="requiredDuringSchedulingIgnoredDuringExecution", default=None)
    preferred: list[PreferredTerm] | None = field(name="preferredDuringSchedulingIgnoredDuringExecution", default=None)


class Affinity(Struct, rename="camel"):
    """core/v1 Affinity."""

    node_affinity: NodeAffinity | None = None


class PodToleration(Struct, rename="camel"):
    """core/v1 Toleration."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None


class NodeTaint(Struct):
    """core/v1 Taint."""

    key: str = ""
    value: str = ""
    effect: str = ""


class NodeSpec(Struct):
    """core/v1 NodeSpec."""

    unschedulable: bool = False
    taints: list[NodeTaint] | None = None


class NodeStatus(Struct):
    """core/v1 NodeStatus."""

    allocatable: dict[str, str | int] | None = None
    conditions: list[Condition] | None = None


class NodeObject(Struct):
    """core/v1 Node."""

    metadata: Owned
    spec: NodeSpec = field(default_factory=NodeSpec)
    status: NodeStatus = field(default_factory=NodeStatus)


class ClassScheduling(Struct, rename="camel"):
    """node.k8s.io/v1 Scheduling."""

    node_selector: dict[str, str] | None = None
    tolerations: list[PodToleration] | None = None


class ClassOverhead(Struct, rename="camel"):
    """node.k8s.io/v1 Overhead."""

    pod_fixed: dict[str, str | int] | None = None


class RuntimeClassObject(Struct):
    """node.k8s.io/v1 RuntimeClass."""

    metadata: Owned
    handler: str = ""
    scheduling: ClassScheduling | None = None
    overhead: ClassOverhead | None = None


class PriorityClassObject(Struct, rename="camel"):
    """scheduling.k8s.io/v1 PriorityClass."""

    metadata: Owned
    value: int = 0
    global_default: bool = False


class Metadata(Struct):
    """Any object of which only the metadata matters."""

    metadata: Owned


class ListMeta(Struct):
    """metav1.ListMeta."""

    version: str = field(name="resourceVersion", default="")
    token: str = field(name="continue", default="")


class Page(Struct):
    """One page of any list."""

    metadata: ListMeta
    items: list[Raw] | None = None


class WatchEvent(Struct):
    """One line of a watch."""

    type: str
    object: Raw


class Status(Struct):
    """metav1.Status, as an ERROR event carries it."""

    code: int = 0
    reason: str = ""
    message: str = ""
