"""The flavors of a ClusterQueue as they are written: how much it may use of each, and how a workload comes to one."""

from __future__ import annotations

from typing import Annotated, Final, Literal, Self

from pydantic import Field, StrictInt, model_validator

from controller.api.base import Model
from controller.api.rules import Fault, Rule, SchemaKeys, refuse, unique_names
from controller.api.schedule import BY_NAME, DurationText
from controller.api.values import ObjectName, QuotaAmount, ResourceName

_NOTHING_BEHIND = "goes only with a flavor behind this one: the last has none to fall back to"
_FALLS_BACK_TO_SOMETHING = Rule(
    "!has(self.flavors) || size(self.flavors) == 0 || !has(self.flavors[size(self.flavors) - 1].fallbackAfter)",
    f"fallbackAfter {_NOTHING_BEHIND}",
    field_path=".flavors",
)
_NOTHING_TO_MIX = "goes only with two flavors or more: of one there is nothing to mix"
_MIXES_SOMETHING = tuple(
    Rule(
        f"!has(self.{field}) || (has(self.flavors) && size(self.flavors) > 1)",
        f"{field} {_NOTHING_TO_MIX}",
        field_path=f".{field}",
    )
    for field in ("onDemandBase", "spotPercent")
)
_ANY_OF_SOME = "Any goes only with two flavors or more"
_NOT_WITH_ANY = "does not go with flavorMode Any: kube-scheduler chooses the flavor"
_IS_ORDERED = "!has(self.flavorMode) || self.flavorMode != 'Any'"
_ANY_RULES = (
    Rule(
        f"{_IS_ORDERED} || (has(self.flavors) && size(self.flavors) > 1)",
        _ANY_OF_SOME,
        field_path=".flavorMode",
    ),
    Rule(
        f"{_IS_ORDERED} || !has(self.flavors) || self.flavors.all(f, !has(f.fallbackAfter))",
        f"fallbackAfter {_NOT_WITH_ANY}",
        field_path=".flavors",
    ),
    *(
        Rule(f"{_IS_ORDERED} || !has(self.{field})", f"{field} {_NOT_WITH_ANY}", field_path=f".{field}")
        for field in ("onDemandBase", "spotPercent")
    ),
    *(
        Rule(
            f"{_IS_ORDERED} || !has(self.flavorFungibility) || self.flavorFungibility.{field} == '{usual}'",
            f"{field} {_NOT_WITH_ANY}",
            field_path=".flavorFungibility",
        )
        for field, usual in (("whenCanBorrow", "MayStopSearch"), ("whenCanPreempt", "TryNextFlavor"))
    ),
)
OF_FLAVORS: Final = (_FALLS_BACK_TO_SOMETHING, *_MIXES_SOMETHING, *_ANY_RULES)
"""Rules on the whole spec that are about its flavors."""


class ResourceQuota(Model):
    """How much of one resource the queue may use in one flavor."""

    name: Annotated[ResourceName, Field(description="The resource, such as cpu, memory, pods or nvidia.com/gpu.")]
    nominal_quota: Annotated[
        QuotaAmount,
        Field(
            description="What the queue owns: the most that admitted pods may request together without borrowing. "
            'Zero: only what can be borrowed from the tree. A percentage, such as "40%", is a share of the flavor: of '
            "its nodes in mode Nodes, of its sums in mode Static; rounded down."
        ),
    ]
    borrowing_limit: Annotated[
        QuotaAmount | None,
        Field(
            description="The most beyond nominalQuota that may be borrowed through the parent; percentages as in "
            "nominalQuota. Left out: no limit. Only with a parent."
        ),
    ] = None
    lending_limit: Annotated[
        QuotaAmount | None,
        Field(
            description="The most of nominalQuota, and of what queues below lend, that others may borrow while it"
            " is free; percentages as in nominalQuota. Left out: all of it. Only with a parent."
        ),
    ] = None


class FlavorQuotas(Model):
    """What the queue may use of one flavor. A resource that is not listed is not given at all."""

    name: Annotated[ObjectName, Field(description="The name of a ResourceFlavor.")]
    resources: Annotated[
        tuple[ResourceQuota, ...],
        Field(description="The quota of each resource; at least one.", min_length=1, max_length=64),
        unique_names("resource"),
        BY_NAME,
    ]
    fallback_after: Annotated[
        DurationText | None,
        Field(
            description="How long, from its creation, a workload waits for quota and room in this flavor and "
            "those before it; after that, later flavors are also tried. Such as 10m or 1h30m, at most"
            " 744h. A workload that can never run in this flavor does not wait. Left out: it does not"
            " wait. Not for the last flavor."
        ),
    ] = None


class FlavorFungibility(Model):
    """What a workload does that one flavor could take at a cost and a later one perhaps without."""

    when_can_borrow: Annotated[
        Literal["MayStopSearch", "TryNextFlavor"],
        Field(
            description="MayStopSearch (default): it borrows, since the order of flavors comes first. "
            "TryNextFlavor: it takes the first of the flavors in which it borrows least."
        ),
    ] = "MayStopSearch"
    when_can_preempt: Annotated[
        Literal["TryNextFlavor", "MayStopSearch"],
        Field(
            description="TryNextFlavor (default): it takes a later flavor that has quota and room, and no "
            "workload is preempted. MayStopSearch: it preempts others in the first flavor in which it"
            " fits then, even if a later flavor has quota and room. Only with preemption."
        ),
    ] = "TryNextFlavor"


class QueueFlavors(Model):
    """The part of a queue's spec that says which flavors its pods get."""

    flavors: Annotated[
        tuple[FlavorQuotas, ...],
        Field(
            description="The flavors that the queue may use, in order of preference: the first with quota and room "
            "is taken. For a parent: what it owns in addition to the queues below it. A queue that takes pods has"
            " at least one.",
            max_length=16,
        ),
        unique_names("flavor"),
        BY_NAME,
    ] = ()
    flavor_fungibility: Annotated[
        FlavorFungibility, Field(description="When a workload takes a later flavor than the first that it could have.")
    ] = FlavorFungibility()
    flavor_mode: Annotated[
        Literal["Ordered", "Any"],
        Field(
            description="Ordered (default): a pod gets the first flavor with quota and room. Any: it may use all "
            "flavors with quota and room, prefers the earlier ones, and kube-scheduler chooses. It "
            "holds quota of all of them until it is on a node, then only of that node's flavor. The "
            "flavors must differ in the value of one of their nodeLabels."
        ),
    ] = "Ordered"
    pin: Annotated[
        Literal["Prefer", "None"],
        Field(
            description="Whether a released pod prefers the node on which room was planned for it. Prefer "
            "(default): with weight 100, so that gangs find the room that was planned. None: "
            "kube-scheduler chooses by its own scores; the planned room is kept until then."
        ),
    ] = "Prefer"
    on_demand_base: Annotated[
        StrictInt | None,
        Field(
            description="How many of the queue's admitted pods are on flavors of capacityType OnDemand before any goes "
            "to one of capacityType Spot. Left out: none.",
            ge=0,
            le=2**31 - 1,
        ),
        SchemaKeys(format="int32"),
    ] = None
    spot_percent: Annotated[
        StrictInt | None,
        Field(
            description="Of its admitted pods beyond onDemandBase, the most that may be on flavors of capacityType "
            "Spot, in percent, rounded down to whole pods. A workload that this keeps off spot tries the other "
            "flavors at once. Left out: 100.",
            ge=0,
            le=100,
        ),
        SchemaKeys(format="int32"),
    ] = None

    @model_validator(mode="after")
    def _falls_back_to_something(self) -> Self:
        last = len(self.flavors) - 1
        after = self.flavors[last].fallback_after if self.flavors else None
        if after is not None:
            refuse([Fault(("flavors", last, "fallbackAfter"), after, _NOTHING_BEHIND)])
        return self

    @model_validator(mode="after")
    def _mixes_something(self) -> Self:
        mix = {"onDemandBase": self.on_demand_base, "spotPercent": self.spot_percent}
        if len(self.flavors) < 2:
            refuse([Fault((field,), one, _NOTHING_TO_MIX) for field, one in mix.items() if one is not None])
        return self

    @model_validator(mode="after")
    def _leaves_the_choice_to_the_scheduler(self) -> Self:
        if self.flavor_mode != "Any":
            return self
        if len(self.flavors) < 2:
            refuse([Fault(("flavorMode",), self.flavor_mode, _ANY_OF_SOME)])
        borrow = self.flavor_fungibility.when_can_borrow
        preempt = self.flavor_fungibility.when_can_preempt
        given: list[tuple[tuple[str | int, ...], object]] = [
            *((("flavors", at, "fallbackAfter"), one.fallback_after) for at, one in enumerate(self.flavors)),
            (("onDemandBase",), self.on_demand_base),
            (("spotPercent",), self.spot_percent),
            (("flavorFungibility", "whenCanBorrow"), None if borrow == "MayStopSearch" else borrow),
            (("flavorFungibility", "whenCanPreempt"), None if preempt == "TryNextFlavor" else preempt),
        ]
        refuse([Fault(where, value, _NOT_WITH_ANY) for where, value in given if value is not None])
        return self
