"""ClusterQueue as it is written: how much may be used of which flavors, and by which namespaces."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, StrictStr

from controller.api.base import AGE, Column, Conditions, Count, Definition, Model, Resource, Status, StopPolicy, active
from controller.api.nodes import LabelSelector
from controller.api.rules import SchemaKeys, unique_names
from controller.api.values import ObjectName, Quantity, ReportedQuantity, ResourceName

_BY_NAME = SchemaKeys(x_kubernetes_list_type="map", x_kubernetes_list_map_keys=["name"])


class ResourceQuota(Model):
    """How much of one resource the queue may use in one flavor."""

    name: Annotated[ResourceName, Field(description="The resource, such as cpu, memory, pods or nvidia.com/gpu.")]
    nominal_quota: Annotated[
        Quantity,
        Field(description="The most that admitted pods may ask for together. Zero admits none that asks for it."),
    ]


class FlavorQuotas(Model):
    """What the queue may use of one flavor. A resource that is not listed is not given at all."""

    name: Annotated[ObjectName, Field(description="The name of a ResourceFlavor.")]
    resources: Annotated[
        tuple[ResourceQuota, ...],
        Field(description="The quota of each resource; at least one.", min_length=1, max_length=64),
        unique_names("resource"),
        _BY_NAME,
    ]


class ClusterQueueSpec(Model):
    """Who may use how much."""

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
        _BY_NAME,
    ]
    stop_policy: Annotated[
        StopPolicy, Field(description="None (default): the queue admits. Hold: it admits nothing; what runs goes on.")
    ] = "None"


class ResourceUsage(Status):
    """Usage of one resource in one flavor."""

    name: Annotated[StrictStr, Field(description="The resource.", max_length=317)]
    total: Annotated[ReportedQuantity, Field(description="What admitted pods ask for.")]
    quota: Annotated[ReportedQuantity, Field(description="What they may ask for.")]


class FlavorUsage(Status):
    """Usage of one flavor."""

    name: Annotated[ObjectName, Field(description="The flavor.")]
    resources: Annotated[
        tuple[ResourceUsage, ...], Field(description="Usage by resource.", max_length=64), _BY_NAME
    ] = ()


class ClusterQueueStatus(Status):
    """What the queue holds now."""

    pending: Annotated[Count, Field(description="Workloads that wait.")] = 0
    reserved: Annotated[Count, Field(description="Workloads that are admitted and not yet on nodes.")] = 0
    running: Annotated[Count, Field(description="Workloads that are on nodes.")] = 0
    flavors_usage: Annotated[
        tuple[FlavorUsage, ...], Field(description="Usage by flavor.", max_length=16), _BY_NAME
    ] = ()
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
            active("Whether the queue admits"),
            AGE,
        ),
    )

    kind: Literal["ClusterQueue"] = "ClusterQueue"
    spec: ClusterQueueSpec
    status: ClusterQueueStatus = ClusterQueueStatus()
