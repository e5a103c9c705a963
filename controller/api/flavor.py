"""ResourceFlavor as it is written: which nodes, what pods need to run there, and how their room is known."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from controller.api.base import AGE, Column, Conditions, Count, Definition, Model, Resource, Status, active
from controller.api.nodes import NodeRequirement, Toleration
from controller.api.rules import Fault, Rule, SchemaKeys, refuse, rules
from controller.api.values import Labels, ReportedResources, Resources

_ATOMIC = SchemaKeys(x_kubernetes_list_type="atomic")
_WANTED = "must be given when mode is Static"
_UNWANTED = "must be left out unless mode is Static"


class Capacity(Model):
    """How the room of a flavor is known."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            Rule("self.mode != 'Static' || has(self.static)", f"static {_WANTED}", field_path=".static"),
            Rule(
                "self.mode == 'Static' || !has(self.static)",
                f"static {_UNWANTED}",
                f"'mode is \"' + self.mode + '\": static {_UNWANTED}'",
                field_path=".static",
            ),
        )
    )

    mode: Annotated[
        Literal["Nodes", "Static"],
        Field(
            description="Nodes (default): a workload is admitted only when its pods fit, node by node, on Ready and "
            "schedulable nodes beside everything else that runs there. Static: by the sums in static alone, "
            "whatever nodes there are now."
        ),
    ] = "Nodes"
    static: Annotated[
        Resources | None,
        Field(description="The amount of each resource there is; given exactly when mode is Static."),
    ] = None

    @model_validator(mode="after")
    def _static_goes_with_its_mode(self) -> Self:
        if self.mode == "Static" and self.static is None:
            refuse([Fault(("static",), None, _WANTED)])
        if self.mode != "Static" and self.static is not None:
            refuse([Fault(("static",), self.static, _UNWANTED)])
        return self


class ResourceFlavorSpec(Model):
    """Which nodes the flavor is. Without nodeLabels and nodeRequirements it is every node."""

    node_labels: Annotated[
        Labels,
        Field(description="Labels that a node of the flavor has, with these values; released pods are held to them."),
    ] = Field(default_factory=dict)
    node_requirements: Annotated[
        tuple[NodeRequirement, ...],
        Field(
            description="Requirements on node labels that must hold together, beside nodeLabels; released pods are "
            "held to them.",
            max_length=32,
        ),
        _ATOMIC,
    ] = ()
    tolerations: Annotated[
        tuple[Toleration, ...],
        Field(description="Tolerations that pods of the flavor are given when they are released.", max_length=32),
        _ATOMIC,
    ] = ()
    capacity: Annotated[Capacity, Field(description="How the room of the flavor is known.")] = Capacity()
    price: Annotated[
        Resources | None,
        Field(
            description="What an hour costs, by resource: of a core for cpu, of a GiB for memory, ephemeral-storage "
            "and huge pages, of one for anything else; in any currency, the same for all flavors, such as "
            '{cpu: "0.031", memory: "0.0042"}. Rounded up to the billionth. A resource that is not listed costs '
            "nothing. Budgets of a ClusterQueue count by it."
        ),
    ] = None


class ResourceFlavorStatus(Status):
    """What Penstock sees of the flavor."""

    nodes: Annotated[Count, Field(description="How many nodes are of the flavor.")] = 0
    allocatable: Annotated[
        ReportedResources,
        Field(description="What its nodes offer, summed by resource."),
    ] = Field(default_factory=dict)
    used: Annotated[
        ReportedResources,
        Field(description="What pods on its nodes take, queued by Penstock or not."),
    ] = Field(default_factory=dict)
    free: Annotated[
        ReportedResources,
        Field(description="What is left: allocatable without used."),
    ] = Field(default_factory=dict)
    conditions: Conditions = ()


class ResourceFlavor(Resource):
    """A named part of the cluster's nodes, such as spot, on-demand or a GPU model."""

    definition: ClassVar[Definition] = Definition(
        kind="ResourceFlavor",
        plural="resourceflavors",
        short_name="prf",
        namespaced=False,
        columns=(
            Column("Mode", ".spec.capacity.mode", "string", "How the room of the flavor is known"),
            Column("Nodes", ".status.nodes", "integer", "Nodes of the flavor"),
            Column("CPU-Free", ".status.free.cpu", "string", "Free cpu on its nodes"),
            Column("Memory-Free", ".status.free.memory", "string", "Free memory on its nodes", priority=1),
            active("Whether pods can be given this flavor"),
            AGE,
        ),
    )

    kind: Literal["ResourceFlavor"] = "ResourceFlavor"
    spec: ResourceFlavorSpec
    status: ResourceFlavorStatus = ResourceFlavorStatus()
