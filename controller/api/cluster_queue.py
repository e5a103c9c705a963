"""ClusterQueue as it is written: how much may be used of which flavors, and by which namespaces."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self

from pydantic import ConfigDict, Field, StrictStr, model_validator

from controller.api.base import AGE, Column, Conditions, Count, Definition, Model, Resource, Status, StopPolicy, active
from controller.api.nodes import LabelSelector
from controller.api.rules import Rule, SchemaKeys, refuse, rules, unique_names
from controller.api.schedule import BY_NAME, NO_SUCH_FLAVOR, ScheduleStatus, ScheduleWindow, faults_of_schedule
from controller.api.values import ObjectName, QuotaAmount, ReportedQuantity, ResourceName

_SCHEDULED_FLAVORS = Rule(
    "!has(self.schedule) || self.schedule.all(w, !has(w.flavors) || w.flavors.all(f, "
    "has(self.flavors) && self.flavors.exists(own, own.name == f.name)))",
    f"the name of a window's flavor {NO_SUCH_FLAVOR}",
    field_path=".schedule",
)


class ResourceQuota(Model):
    """How much of one resource the queue may use in one flavor."""

    name: Annotated[ResourceName, Field(description="The resource, such as cpu, memory, pods or nvidia.com/gpu.")]
    nominal_quota: Annotated[
        QuotaAmount,
        Field(
            description="The most that admitted pods may ask for together. Zero admits none that asks for it. A "
            'percentage, such as "40%", is of what the flavor has: of its nodes in mode Nodes, of its sums in mode '
            "Static, rounded down."
        ),
    ]


class FlavorQuotas(Model):
    """What the queue may use of one flavor. A resource that is not listed is not given at all."""

    name: Annotated[ObjectName, Field(description="The name of a ResourceFlavor.")]
    resources: Annotated[
        tuple[ResourceQuota, ...],
        Field(description="The quota of each resource; at least one.", min_length=1, max_length=64),
        unique_names("resource"),
        BY_NAME,
    ]


class ClusterQueueSpec(Model):
    """Who may use how much."""

    model_config = ConfigDict(json_schema_extra=rules(_SCHEDULED_FLAVORS))

    namespace_selector: Annotated[
        LabelSelector | None,
        Field(
            description="The namespaces, by label, whose LocalQueues may lead here. Left out or null: none. "
            "Empty, {}: all."
        ),
        SchemaKeys(nullable=True),
    ] = None
    queueing_strategy: Annotated[
        Literal["BestEffortFIFO", "StrictFIFO"],
        Field(
            description="BestEffortFIFO (default): a workload that does not fit lets later ones pass. StrictFIFO: it "
            "holds up those behind it, by priority and then by age."
        ),
    ] = "BestEffortFIFO"
    flavors: Annotated[
        tuple[FlavorQuotas, ...],
        Field(
            description="The flavors that the queue may use, in order of preference: the first with quota and room "
            "is taken.",
            min_length=1,
            max_length=16,
        ),
        unique_names("flavor"),
        BY_NAME,
    ]
    stop_policy: Annotated[
        StopPolicy, Field(description="None (default): the queue admits. Hold: it admits nothing; what runs goes on.")
    ] = "None"
    schedule: Annotated[
        tuple[ScheduleWindow, ...],
        Field(
            description="Windows that override quotas and stopPolicy while they are open. Where open windows override "
            "the same, the last in the list wins.",
            max_length=16,
        ),
        unique_names("window"),
        BY_NAME,
    ] = ()

    @model_validator(mode="after")
    def _windows_override_what_there_is(self) -> Self:
        quotas = {flavor.name: {resource.name for resource in flavor.resources} for flavor in self.flavors}
        refuse(faults_of_schedule(self.schedule, quotas))
        return self


class ResourceUsage(Status):
    """Usage of one resource in one flavor."""

    name: Annotated[StrictStr, Field(description="The resource.", max_length=317)]
    total: Annotated[ReportedQuantity, Field(description="What admitted pods ask for.")]
    quota: Annotated[ReportedQuantity, Field(description="What they may ask for at the moment.")]


class FlavorUsage(Status):
    """Usage of one flavor."""

    name: Annotated[ObjectName, Field(description="The flavor.")]
    resources: Annotated[
        tuple[ResourceUsage, ...], Field(description="Usage by resource.", max_length=64), BY_NAME
    ] = ()


class ClusterQueueStatus(Status):
    """What the queue holds now."""

    pending: Annotated[Count, Field(description="Workloads that wait.")] = 0
    reserved: Annotated[Count, Field(description="Workloads that are admitted and not yet on nodes.")] = 0
    running: Annotated[Count, Field(description="Workloads that are on nodes.")] = 0
    flavors_usage: Annotated[
        tuple[FlavorUsage, ...], Field(description="Usage by flavor.", max_length=16), BY_NAME
    ] = ()
    schedule: Annotated[
        ScheduleStatus | None, Field(description="The schedule at the moment; absent where there is none.")
    ] = None
    conditions: Conditions = ()


class ClusterQueue(Resource):
    """A quota on flavors, and the namespaces that may use it through their LocalQueues."""

    definition: ClassVar[Definition] = Definition(
        kind="ClusterQueue",
        plural="clusterqueues",
        short_name="pcq",
        namespaced=False,
        columns=(
            Column("Strategy", ".spec.queueingStrategy", "string", "What a workload that does not fit does to others"),
            Column("Stop", ".spec.stopPolicy", "string", "Whether the queue is held", priority=1),
            Column("Pending", ".status.pending", "integer", "Workloads that wait"),
            Column("Reserved", ".status.reserved", "integer", "Workloads admitted and not yet on nodes"),
            Column("Running", ".status.running", "integer", "Workloads on nodes"),
            Column(
                "Open-Windows", ".status.schedule.open", "string", "Windows of the schedule that are open", priority=1
            ),
            Column("Next-Change", ".status.schedule.nextChange", "string", "When the next opens or closes", priority=1),
            active("Whether the queue admits"),
            AGE,
        ),
    )

    kind: Literal["ClusterQueue"] = "ClusterQueue"
    spec: ClusterQueueSpec
    status: ClusterQueueStatus = ClusterQueueStatus()
