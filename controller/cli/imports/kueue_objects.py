"""Kueue's objects as they are written, in v1beta1 and v1beta2: which fields there are, and what may stand in them.

Mirrors apis/kueue/v1beta1 and v1beta2 of kubernetes-sigs/kueue. A status is read past; any other unknown field is a
fault, since nobody could say what leaving it out would change. What becomes of a field is not decided here.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import ConfigDict, Field, StrictInt, StrictStr, model_validator

from controller.api.base import Model
from controller.api.nodes import LabelSelector, Toleration
from controller.api.rules import Fault, refuse
from controller.api.values import LabelKey, Labels, LabelValue, Quantity, ResourceName, Subdomain

Stop = Literal["None", "Hold", "HoldAndDrain"]


class Named(Model):
    """The part of the metadata that says which object it is."""

    model_config = ConfigDict(extra="ignore")

    name: Annotated[StrictStr, Field(min_length=1)]
    namespace: StrictStr = ""


class Quota(Model):
    """One resource of a flavor."""

    name: ResourceName
    nominal_quota: Quantity
    borrowing_limit: Quantity | None = None
    lending_limit: Quantity | None = None


class Flavor(Model):
    """A flavor of a resource group."""

    name: Subdomain
    resources: Annotated[tuple[Quota, ...], Field(min_length=1)]


class Group(Model):
    """Resources that are given together, each from the same flavor."""

    covered_resources: Annotated[tuple[ResourceName, ...], Field(min_length=1)]
    flavors: Annotated[tuple[Flavor, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _flavors_give_what_is_covered(self) -> Self:
        covered = list(self.covered_resources)
        refuse(
            [
                Fault(("flavors", at, "resources"), names, "must name each of coveredResources once, and nothing else")
                for at, flavor in enumerate(self.flavors)
                if sorted(names := [quota.name for quota in flavor.resources]) != sorted(covered)
            ]
        )
        return self


class FairSharing(Model):
    """A weight among siblings."""

    weight: float | int | str = 1


class Fungibility(Model):
    """When a later flavor is looked at; Borrow and Preempt are v1beta1's names for MayStopSearch."""

    when_can_borrow: Literal["MayStopSearch", "TryNextFlavor", "Borrow"] = "MayStopSearch"
    when_can_preempt: Literal["MayStopSearch", "TryNextFlavor", "Preempt"] = "TryNextFlavor"
    preference: Literal["BorrowingOverPreemption", "PreemptionOverBorrowing"] = "BorrowingOverPreemption"


class BorrowWithinCohort(Model):
    """Preemption by a workload that borrows."""

    policy: Literal["Never", "LowerPriority"] = "Never"
    max_priority_threshold: StrictInt | None = None


class Preemption(Model):
    """Who may be preempted."""

    within_cluster_queue: Literal["Never", "LowerPriority", "LowerOrNewerEqualPriority"] = "Never"
    reclaim_within_cohort: Literal["Never", "LowerPriority", "Any"] = "Never"
    borrow_within_cohort: BorrowWithinCohort = BorrowWithinCohort()


class Check(Model):
    """An admission check that a queue asks for."""

    name: StrictStr
    on_flavors: tuple[StrictStr, ...] = ()


class ChecksStrategy(Model):
    """The admission checks, by flavor."""

    admission_checks: tuple[Check, ...] = ()


class AdmissionScope(Model):
    """Whether past usage orders what waits."""

    admission_mode: StrictStr = "NoAdmissionFairSharing"


class QueueSpec(Model):
    """What both versions of a ClusterQueue have."""

    resource_groups: tuple[Group, ...] = ()
    queueing_strategy: Literal["BestEffortFIFO", "StrictFIFO"] = "BestEffortFIFO"
    namespace_selector: LabelSelector | None = None
    flavor_fungibility: Fungibility = Fungibility()
    preemption: Preemption = Preemption()
    admission_checks_strategy: ChecksStrategy = ChecksStrategy()
    stop_policy: Stop = "None"
    fair_sharing: FairSharing = FairSharing()
    admission_scope: AdmissionScope = AdmissionScope()


class QueueSpecV1Beta1(QueueSpec):
    """ClusterQueue of v1beta1."""

    cohort: Subdomain | Literal[""] = ""
    admission_checks: tuple[StrictStr, ...] = ()


class QueueSpecV1Beta2(QueueSpec):
    """ClusterQueue of v1beta2."""

    cohort_name: Subdomain | Literal[""] = ""
    concurrent_admission_policy: dict[str, Any] | None = None


class CohortSpec(Model):
    """A node of the tree above ClusterQueues."""

    parent_name: Subdomain | Literal[""] = ""
    resource_groups: tuple[Group, ...] = ()
    fair_sharing: FairSharing = FairSharing()


class CohortSpecV1Alpha1(CohortSpec):
    """A node of the tree, of v1alpha1, which names its parent by another field."""

    parent_name: Annotated[Subdomain | Literal[""], Field(alias="parent")] = ""


class LocalQueueSpec(Model):
    """A namespace's door."""

    cluster_queue: Subdomain
    stop_policy: Stop = "None"
    fair_sharing: FairSharing = FairSharing()


class Taint(Model):
    """core/v1 Taint, without the time that only nodes have."""

    model_config = ConfigDict(extra="ignore")

    key: LabelKey
    value: LabelValue = ""
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"]


class FlavorSpec(Model):
    """Which nodes a flavor is."""

    node_labels: Labels = Field(default_factory=dict)
    node_taints: tuple[Taint, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    topology_name: Subdomain | None = None


class WrittenObject(Model):
    """What every object has; a status is the old controller's."""

    api_version: StrictStr
    kind: StrictStr
    metadata: Named
    status: Any = None


class QueueV1Beta1(WrittenObject):
    """ClusterQueue of v1beta1."""

    spec: QueueSpecV1Beta1 = QueueSpecV1Beta1()


class QueueV1Beta2(WrittenObject):
    """ClusterQueue of v1beta2."""

    spec: QueueSpecV1Beta2 = QueueSpecV1Beta2()


class Cohort(WrittenObject):
    """Cohort, alike in both versions."""

    spec: CohortSpec = CohortSpec()


class CohortV1Alpha1(WrittenObject):
    """Cohort of v1alpha1."""

    spec: CohortSpecV1Alpha1 = CohortSpecV1Alpha1()


class LocalQueue(WrittenObject):
    """LocalQueue, alike in both versions."""

    spec: LocalQueueSpec


class ResourceFlavor(WrittenObject):
    """ResourceFlavor, alike in both versions."""

    spec: FlavorSpec = FlavorSpec()


class PriorityClass(WrittenObject):
    """WorkloadPriorityClass, which has no spec."""

    value: StrictInt
    description: StrictStr = ""
