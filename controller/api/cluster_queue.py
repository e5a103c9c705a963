"""ClusterQueue as it is written: how much may be used of which flavors, and by which namespaces."""

from __future__ import annotations

from typing import Annotated, ClassVar, Final, Literal, Self

from pydantic import ConfigDict, Field, StrictBool, StrictStr, model_validator

from controller.api.ageing import BOUNDED, Ageing
from controller.api.base import AGE, Column, Conditions, Count, Definition, Model, Resource, Status, StopPolicy, active
from controller.api.budget import Budget, BudgetStatus
from controller.api.nodes import LabelSelector
from controller.api.preemption import Preemption
from controller.api.rules import Fault, Rule, SchemaKeys, refuse, rules, unique_names
from controller.api.schedule import (
    BY_NAME,
    NO_SUCH_FLAVOR,
    DurationText,
    ScheduleStatus,
    ScheduleWindow,
    faults_of_schedule,
)
from controller.api.values import ObjectName, Quantity, QuotaAmount, ReportedQuantity, ResourceName

FLAVORS_REPORTED: Final = 64
"""In the status of a queue: one with queues below it reports their flavors too."""

_ONLY_WITH_PARENT = "goes only with spec.parent: without one there is nobody to borrow from or lend to"
_NEEDS_PARENT = tuple(
    Rule(
        f"has(self.parent) || !has(self.flavors) || self.flavors.all(f, f.resources.all(r, !has(r.{field})))",
        f"{field} {_ONLY_WITH_PARENT}",
        field_path=".flavors",
    )
    for field in ("borrowingLimit", "lendingLimit")
)
_NOTHING_BEHIND = "goes only with a flavor behind this one: the last has none to fall back to"
_FALLS_BACK_TO_SOMETHING = Rule(
    "!has(self.flavors) || size(self.flavors) == 0 || !has(self.flavors[size(self.flavors) - 1].fallbackAfter)",
    f"fallbackAfter {_NOTHING_BEHIND}",
    field_path=".flavors",
)
_NO_TIMEOUT = "goes only with spec.reservationTimeout: without one no reservation is overdue"
_TIMES_OUT = Rule(
    "!has(self.onReservationTimeout) || self.onReservationTimeout == 'Keep' || has(self.reservationTimeout)",
    _NO_TIMEOUT,
    field_path=".onReservationTimeout",
)
_NOBODY_TO_RECLAIM_FROM = "goes only with spec.parent: without one nobody borrows from it"
_RECLAIMS_FROM_SOMEBODY = Rule(
    "!has(self.preemption) || self.preemption.reclaimWithinCohort == 'Never' || has(self.parent)",
    f"reclaimWithinCohort {_NOBODY_TO_RECLAIM_FROM}",
    field_path=".preemption",
)
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
            description="What the queue owns: the most that admitted pods may ask for together without borrowing. "
            'Zero: only what can be borrowed from the tree. A percentage, such as "40%", is of what the flavor has: of '
            "its nodes in mode Nodes, of its sums in mode Static, rounded down."
        ),
    ]
    borrowing_limit: Annotated[
        Quantity | None,
        Field(
            description="The most beyond nominalQuota that may be borrowed through the parent. Left out: no limit. "
            "Only with a parent."
        ),
    ] = None
    lending_limit: Annotated[
        Quantity | None,
        Field(
            description="The most of nominalQuota, and of what queues below lend, that others may borrow while it is "
            "free. Left out: all of it. Only with a parent."
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
            description="For how long, from its creation, a workload waits for quota and room in this flavor and those "
            "before it until the flavors behind are tried too: such as 10m or 1h30m, at most 744h. One that can never "
            "run in this flavor does not wait. Left out: it does not wait. Not for the last flavor."
        ),
    ] = None


class Limit(Model):
    """The most of one resource, whichever flavor it is of."""

    name: Annotated[ResourceName, Field(description="The resource, such as pods.")]
    max: Annotated[
        Quantity,
        Field(
            description="The most that admitted pods of the queue, and of all queues below it, may ask for together."
        ),
    ]
    per_user: Annotated[
        Quantity | None,
        Field(
            description="The most that those of one user may ask for together. The user is who created the pod's "
            "controlling owner, or the pod itself, as admission saw it; pods of which nobody knows that share one "
            "limit. Left out: no limit."
        ),
    ] = None


class FlavorFungibility(Model):
    """What a workload does that one flavor could take at a cost and a later one perhaps without."""

    when_can_borrow: Annotated[
        Literal["MayStopSearch", "TryNextFlavor"],
        Field(
            description="MayStopSearch (default): it borrows, since the order of flavors comes first. TryNextFlavor: "
            "it takes the first flavor of those for which it borrows least."
        ),
    ] = "MayStopSearch"


class ClusterQueueSpec(Model):
    """Who may use how much."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            *_NEEDS_PARENT, _FALLS_BACK_TO_SOMETHING, _TIMES_OUT, _RECLAIMS_FROM_SOMEBODY, _SCHEDULED_FLAVORS
        )
    )

    parent: Annotated[
        ObjectName | None,
        Field(
            description="The ClusterQueue above. Queues below one parent borrow from each other, and from it, what is "
            "free. A queue that is a parent takes no pods itself. Left out: the queue is the root of a tree."
        ),
    ] = None
    namespace_selector: Annotated[
        LabelSelector | None,
        Field(
            description="The namespaces, by label, whose LocalQueues may lead here. Left out or null: none. "
            "Empty, {}: all."
        ),
        SchemaKeys(nullable=True),
    ] = None
    queueing_strategy: Annotated[
        Literal["BestEffortFIFO", "StrictFIFO", "Backfill"],
        Field(
            description="BestEffortFIFO (default): a workload that does not fit lets later ones pass. StrictFIFO: it "
            "holds up those behind it, by priority and then by age. Backfill: it lets those pass that do not delay it."
        ),
    ] = "BestEffortFIFO"
    flavors: Annotated[
        tuple[FlavorQuotas, ...],
        Field(
            description="The flavors that the queue may use, in order of preference: the first with quota and room "
            "is taken. Of a parent: what it owns beside the queues below it. A queue that takes pods has at least one.",
            max_length=16,
        ),
        unique_names("flavor"),
        BY_NAME,
    ] = ()
    limits: Annotated[
        tuple[Limit, ...],
        Field(
            description="Limits on resources, beside the quotas of flavors. What is not listed has none.", max_length=64
        ),
        unique_names("resource"),
        BY_NAME,
    ] = ()
    ageing: Annotated[
        Ageing | None,
        Field(
            description="Lets the priority of the queue's pods grow while they wait, for the order alone; left out: it "
            "stays."
        ),
        SchemaKeys(**rules(BOUNDED)),
    ] = None
    flavor_fungibility: Annotated[
        FlavorFungibility, Field(description="When a workload takes a later flavor than it could have.")
    ] = FlavorFungibility()
    preemption: Annotated[
        Preemption,
        Field(
            description="Whom its workloads evict to be admitted, of pods whose owner makes them anew at no cost; see "
            "allowBarePods and allowJobRetries of the queue that they are in."
        ),
    ] = Preemption()
    stop_policy: Annotated[
        StopPolicy,
        Field(
            description="None (default): the queue admits. Hold: neither it nor those below it admit anything; what "
            "runs goes on. HoldAndDrain: as Hold, and what was admitted is evicted where its owner makes it anew at no "
            "cost; the condition Drained tells of what stays."
        ),
    ] = "None"
    allow_bare_pods: Annotated[
        StrictBool,
        Field(
            description="Whether pods that nobody makes anew may be evicted too. Default: false, they run to their end."
        ),
    ] = False
    allow_job_retries: Annotated[
        StrictBool,
        Field(
            description="Whether pods may be evicted whose Job counts that as a failure, while its backoffLimit leaves "
            "retries. Default: false, only pods of Jobs whose podFailurePolicy ignores DisruptionTarget are."
        ),
    ] = False
    reservation_timeout: Annotated[
        DurationText | None,
        Field(
            description="For how long an admitted pod may be on no node before its condition says so, with the "
            "scheduler's own message, and the room planned for it goes to others: such as 15m, at most 744h. It keeps "
            "its quota. Left out: for ever."
        ),
    ] = None
    on_reservation_timeout: Annotated[
        Literal["Keep", "Evict"],
        Field(
            description="Keep (default): such a pod stays. Evict: it is evicted where its owner makes it anew at no "
            "cost, and waits again. Only with reservationTimeout."
        ),
    ] = "Keep"
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

    budgets: Annotated[
        tuple[Budget, ...],
        Field(
            description="What pods of the queue, and of all queues below it, may use over time. What runs is not ended "
            "when a budget is.",
            max_length=8,
        ),
        unique_names("budget"),
        BY_NAME,
    ] = ()

    @model_validator(mode="after")
    def _windows_override_what_there_is(self) -> Self:
        quotas = {flavor.name: {resource.name for resource in flavor.resources} for flavor in self.flavors}
        refuse(faults_of_schedule(self.schedule, quotas))
        return self

    @model_validator(mode="after")
    def _times_out(self) -> Self:
        if self.on_reservation_timeout != "Keep" and self.reservation_timeout is None:
            refuse([Fault(("onReservationTimeout",), self.on_reservation_timeout, _NO_TIMEOUT)])
        return self

    @model_validator(mode="after")
    def _reclaims_from_somebody(self) -> Self:
        if self.preemption.reclaim_within_cohort != "Never" and self.parent is None:
            at = ("preemption", "reclaimWithinCohort")
            refuse([Fault(at, self.preemption.reclaim_within_cohort, _NOBODY_TO_RECLAIM_FROM)])
        return self

    @model_validator(mode="after")
    def _falls_back_to_something(self) -> Self:
        last = len(self.flavors) - 1
        after = self.flavors[last].fallback_after if self.flavors else None
        if after is not None:
            refuse([Fault(("flavors", last, "fallbackAfter"), after, _NOTHING_BEHIND)])
        return self

    @model_validator(mode="after")
    def _limits_of_the_tree_need_a_parent(self) -> Self:
        if self.parent is None:
            refuse(
                [
                    Fault(("flavors", at, "resources", index, field), value, _ONLY_WITH_PARENT)
                    for at, flavor in enumerate(self.flavors)
                    for index, one in enumerate(flavor.resources)
                    for field, value in (("borrowingLimit", one.borrowing_limit), ("lendingLimit", one.lending_limit))
                    if value is not None
                ]
            )
        return self


class ResourceUsage(Status):
    """Usage of one resource in one flavor."""

    name: Annotated[StrictStr, Field(description="The resource.", max_length=317)]
    total: Annotated[
        ReportedQuantity, Field(description="What admitted pods ask for, those of the queues below among them.")
    ]
    quota: Annotated[
        ReportedQuantity,
        Field(description="What they may ask for at the moment without borrowing, what queues below own with it."),
    ]
    borrowed: Annotated[ReportedQuantity, Field(description="What of the total is borrowed through the parent.")] = "0"


class FlavorUsage(Status):
    """Usage of one flavor."""

    name: Annotated[ObjectName, Field(description="The flavor.")]
    resources: Annotated[
        tuple[ResourceUsage, ...], Field(description="Usage by resource.", max_length=64), BY_NAME
    ] = ()


class LimitUsage(Status):
    """Usage of a resource that is limited over all flavors."""

    name: Annotated[StrictStr, Field(description="The resource.", max_length=317)]
    total: Annotated[
        ReportedQuantity, Field(description="What admitted pods ask for, those of the queues below among them.")
    ]
    max: Annotated[ReportedQuantity, Field(description="What they may ask for.")]


class ClusterQueueStatus(Status):
    """What the queue holds now."""

    pending: Annotated[Count, Field(description="Workloads that wait.")] = 0
    reserved: Annotated[Count, Field(description="Workloads that are admitted and not yet on nodes.")] = 0
    running: Annotated[Count, Field(description="Workloads that are on nodes.")] = 0
    flavors_usage: Annotated[
        tuple[FlavorUsage, ...], Field(description="Usage by flavor.", max_length=FLAVORS_REPORTED), BY_NAME
    ] = ()
    limits_usage: Annotated[
        tuple[LimitUsage, ...], Field(description="Usage of what spec.limits names.", max_length=64), BY_NAME
    ] = ()
    schedule: Annotated[
        ScheduleStatus | None, Field(description="The schedule at the moment; absent where there is none.")
    ] = None
    budgets: Annotated[
        tuple[BudgetStatus, ...], Field(description="What was used of each budget.", max_length=8), BY_NAME
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
            Column("Parent", ".spec.parent", "string", "The queue above, through which it borrows"),
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
