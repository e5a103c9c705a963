"""ResourceFlavor as it is written: which nodes, what pods need to run there, and how their room is known."""

from __future__ import annotations

from typing import Annotated, ClassVar, Final, Literal, Self

from pydantic import ConfigDict, Field, StrictStr, model_validator

from controller.api.base import AGE, Column, Conditions, Count, Definition, Model, Resource, Status, active
from controller.api.nodes import NodeRequirement, Toleration
from controller.api.rules import Fault, Rule, SchemaKeys, refuse, rules
from controller.api.schedule import DurationText
from controller.api.values import Labels, ReportedResources, ReportedText, Resources

_ATOMIC = SchemaKeys(x_kubernetes_list_type="atomic")
PROVISION_TIMEOUT: Final = "15m"
COOL_DOWN: Final = "30m"

_MODE_OF = {"static": "Static", "max": "Autoscaled"}
"""Sums, and the mode that they belong to."""
_OF_AUTOSCALED = ("provisionTimeout", "coolDown")


def _wanted(mode: str) -> str:
    return f"must be given when mode is {mode}"


def _unwanted(mode: str) -> str:
    return f"must be left out unless mode is {mode}"


def _only_with(field: str, mode: str) -> Rule:
    return Rule(
        f"self.mode == '{mode}' || !has(self.{field})",
        f"{field} {_unwanted(mode)}",
        f"'mode is \"' + self.mode + '\": {field} {_unwanted(mode)}'",
        field_path=f".{field}",
    )


class Capacity(Model):
    """How the room of a flavor is known."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            *(
                Rule(f"self.mode != '{mode}' || has(self.{field})", f"{field} {_wanted(mode)}", field_path=f".{field}")
                for field, mode in _MODE_OF.items()
            ),
            *(_only_with(field, mode) for field, mode in _MODE_OF.items()),
            *(_only_with(field, "Autoscaled") for field in _OF_AUTOSCALED),
            _only_with("packing", "Nodes"),
        )
    )

    mode: Annotated[
        Literal["Nodes", "Autoscaled", "Static"],
        Field(
            description="Nodes (default): a workload is admitted only if its pods fit, node by node, on Ready and"
            " schedulable nodes, together with everything else that runs there. Autoscaled: by the "
            "sums in max, since an autoscaler will add nodes; if it does not, the flavor becomes dry."
            " Static: by the sums in static, whatever nodes exist."
        ),
    ] = "Nodes"
    static: Annotated[
        Resources | None,
        Field(description="The amount of each resource; required in mode Static, else not allowed."),
    ] = None
    max: Annotated[
        Resources | None,
        Field(
            description="The most of each resource that all nodes of the flavor may have together; required in "
            "mode Autoscaled, else not allowed. Admitted pods of all queues never request more."
        ),
    ] = None
    packing: Annotated[
        Literal["LeastFree", "MostFree"] | None,
        Field(
            description="Which of the nodes with room a pod gets, by the scarcest resource. LeastFree (default): "
            "the fullest, so that large gaps stay free for large pods and empty nodes can be removed."
            " MostFree: the emptiest, so that pods disturb each other least. Only in mode Nodes."
        ),
    ] = None
    provision_timeout: Annotated[
        DurationText | None,
        Field(
            description="How long pods may be Unschedulable before the flavor becomes dry: it is not tried for a "
            "while, and the pods are evicted if their owner recreates them without counting a "
            "failure. Only in mode Autoscaled. Default: 15m."
        ),
    ] = None
    cool_down: Annotated[
        DurationText | None,
        Field(description="How long a dry flavor is not tried. Only in mode Autoscaled. Default: 30m."),
    ] = None

    @model_validator(mode="after")
    def _goes_with_its_mode(self) -> Self:
        given = {
            "static": self.static,
            "max": self.max,
            "provisionTimeout": self.provision_timeout,
            "coolDown": self.cool_down,
            "packing": self.packing,
        }
        modes = {**_MODE_OF, **dict.fromkeys(_OF_AUTOSCALED, "Autoscaled"), "packing": "Nodes"}
        refuse(
            [
                *(
                    Fault((field,), None, _wanted(m))
                    for field, m in _MODE_OF.items()
                    if m == self.mode and not given[field]
                ),
                *(
                    Fault((f,), v, _unwanted(modes[f]))
                    for f, v in given.items()
                    if v is not None and modes[f] != self.mode
                ),
            ]
        )
        return self


class ResourceFlavorSpec(Model):
    """The nodes of the flavor. Without nodeLabels and nodeRequirements, all nodes."""

    node_labels: Annotated[
        Labels,
        Field(description="Labels of the flavor's nodes, with their values; released pods get them as node selector."),
    ] = Field(default_factory=dict)
    node_requirements: Annotated[
        tuple[NodeRequirement, ...],
        Field(
            description="Requirements on node labels that must all hold, in addition to nodeLabels; released pods"
            " get them as required node affinity.",
            max_length=32,
        ),
        _ATOMIC,
    ] = ()
    tolerations: Annotated[
        tuple[Toleration, ...],
        Field(description="Tolerations that pods of the flavor get when they are released.", max_length=32),
        _ATOMIC,
    ] = ()
    capacity: Annotated[Capacity, Field(description="How the capacity of the flavor is known.")] = Capacity()
    capacity_type: Annotated[
        Literal["OnDemand", "Spot"],
        Field(
            description="OnDemand (default): its nodes stay. Spot: the cloud may take them back. This affects "
            "only how onDemandBase and spotPercent of a ClusterQueue count the flavor."
        ),
    ] = "OnDemand"
    price: Annotated[
        Resources | None,
        Field(
            description="The price of an hour, by resource: of a core for cpu, of a GiB for memory, "
            "ephemeral-storage and huge pages, of one unit for anything else; in one currency for all "
            'flavors, such as {cpu: "0.031", memory: "0.0042"}. Rounded up to the billionth. A resource that is not '
            "listed costs nothing. Budgets of ClusterQueues use these prices."
        ),
    ] = None


class ResourceFlavorColumns(Status):
    """Text for the columns of kubectl get, rounded."""

    used: Annotated[
        ReportedText, Field(description="How much of the capacity is used: `cpu 12/40, memory 3Gi/64Gi`.")
    ] = ""


class ResourceFlavorStatus(Status):
    """The observed state of the flavor."""

    nodes: Annotated[Count, Field(description="How many nodes the flavor has.")] = 0
    allocatable: Annotated[
        ReportedResources,
        Field(
            description="The allocatable resources of its nodes together; in mode Autoscaled, the most they may have."
        ),
    ] = Field(default_factory=dict)
    used: Annotated[
        ReportedResources,
        Field(
            description="What pods on its nodes request, whether of a queue or not; in the other modes, what "
            "admitted pods request."
        ),
    ] = Field(default_factory=dict)
    free: Annotated[
        ReportedResources,
        Field(description="What is free: allocatable minus used."),
    ] = Field(default_factory=dict)
    dry_until: Annotated[
        StrictStr | None,
        Field(description="Until when the flavor is, or was, dry: no node came. Absent if it never was."),
        SchemaKeys(format="date-time"),
    ] = None
    columns: Annotated[ResourceFlavorColumns, Field(description="Text for kubectl get.")] = ResourceFlavorColumns()
    conditions: Conditions = ()


class ResourceFlavor(Resource):
    """A named part of the cluster's nodes, such as spot, on-demand or a GPU model."""

    definition: ClassVar[Definition] = Definition(
        kind="ResourceFlavor",
        plural="resourceflavors",
        short_name="prf",
        namespaced=False,
        columns=(
            Column("Mode", ".spec.capacity.mode", "string", "How the capacity of the flavor is known"),
            Column("Type", ".spec.capacityType", "string", "Whether its nodes are on-demand or spot", priority=1),
            Column("Nodes", ".status.nodes", "integer", "Nodes of the flavor"),
            Column("Used", ".status.columns.used", "string", "How much of its capacity is used"),
            Column("Dry-Until", ".status.dryUntil", "string", "Until when the flavor is not tried", priority=1),
            active("Whether pods can get this flavor"),
            AGE,
        ),
    )

    kind: Literal["ResourceFlavor"] = "ResourceFlavor"
    spec: ResourceFlavorSpec
    status: ResourceFlavorStatus = ResourceFlavorStatus()
