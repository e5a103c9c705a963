"""ClusterQueue as it is written: how much may be used of which flavors, and by which namespaces."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self

from pydantic import ConfigDict, Field, StrictBool, model_validator

from controller.api.ageing import BOUNDED, Ageing
from controller.api.base import AGE, Column, Definition, Resource, StopPolicy, active
from controller.api.budget import Budget
from controller.api.cluster_queue_status import ClusterQueueStatus
from controller.api.fair_sharing import HAS_SOMEBODY_TO_SHARE_WITH, SAID_BY_THE_ROOT, FairSharing, faults_of
from controller.api.limit import Limit
from controller.api.nodes import LabelSelector
from controller.api.preemption import Preemption
from controller.api.queue_flavors import OF_FLAVORS, QueueFlavors
from controller.api.rules import Fault, Rule, SchemaKeys, refuse, rules, unique_names
from controller.api.schedule import (
    BY_NAME,
    NO_SUCH_FLAVOR,
    ONLY_WITH_PARENT,
    DurationText,
    ScheduleWindow,
    faults_of_schedule,
    faults_without_parent,
)
from controller.api.values import ObjectName

_NEEDS_PARENT = tuple(
    Rule(
        f"has(self.parent) || !has(self.flavors) || self.flavors.all(f, f.resources.all(r, !has(r.{field})))",
        f"{field} {ONLY_WITH_PARENT}",
        field_path=".flavors",
    )
    for field in ("borrowingLimit", "lendingLimit")
) + tuple(
    Rule(
        f"has(self.parent) || !has(self.schedule) || self.schedule.all(w, !has(w.flavors) || w.flavors.all(f, "
        f"f.resources.all(r, !has(r.{field}))))",
        f"{field} of a window {ONLY_WITH_PARENT}",
        field_path=".schedule",
    )
    for field in ("borrowingLimit", "lendingLimit")
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
_NOBODY_TO_PREEMPT = "goes only with spec.preemption: without it nobody is preempted"
_PREEMPTS_SOMEBODY = Rule(
    "!has(self.flavorFungibility) || self.flavorFungibility.whenCanPreempt == 'TryNextFlavor' || "
    "(has(self.preemption) && "
    "(self.preemption.withinClusterQueue != 'Never' || self.preemption.reclaimWithinCohort != 'Never'))",
    f"whenCanPreempt {_NOBODY_TO_PREEMPT}",
    field_path=".flavorFungibility",
)
_SCHEDULED_FLAVORS = Rule(
    "!has(self.schedule) || self.schedule.all(w, !has(w.flavors) || w.flavors.all(f, "
    "has(self.flavors) && self.flavors.exists(own, own.name == f.name)))",
    f"the name of a window's flavor {NO_SUCH_FLAVOR}",
    field_path=".schedule",
)


class ClusterQueueSpec(QueueFlavors):
    """Who may use how much."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            *_NEEDS_PARENT,
            *OF_FLAVORS,
            _TIMES_OUT,
            _RECLAIMS_FROM_SOMEBODY,
            _PREEMPTS_SOMEBODY,
            _SCHEDULED_FLAVORS,
            HAS_SOMEBODY_TO_SHARE_WITH,
            *SAID_BY_THE_ROOT,
        )
    )

    parent: Annotated[
        ObjectName | None,
        Field(
            description="The ClusterQueue above this one. Queues with the same parent borrow from each other, and"
            " from the parent, what is free. A queue that is a parent takes no pods itself. Left out:"
            " the queue is the root of a tree."
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
            description="What happens to later workloads when the first one does not fit. BestEffortFIFO "
            "(default): they may pass it. StrictFIFO: they wait. Backfill: those that do not delay it"
            " may pass. The order is by priority, then by age."
        ),
    ] = "BestEffortFIFO"
    limits: Annotated[
        tuple[Limit, ...],
        Field(
            description="Limits on resources, in addition to the quotas of flavors. Other resources have no limit.",
            max_length=64,
        ),
        unique_names("resource"),
        BY_NAME,
    ] = ()
    allowed_priority_classes: Annotated[
        tuple[ObjectName, ...] | None,
        Field(
            description="The WorkloadPriorityClasses that pods of the queue, and of all queues below it, may name; a "
            "pod that names another one waits. Pods that name none are accepted, with the priority of their own "
            "PriorityClass. Empty: none may be named. Left out: any.",
            max_length=64,
        ),
        SchemaKeys(x_kubernetes_list_type="atomic"),
    ] = None
    scheduler_preemption: Annotated[
        Literal["Warn", "Forbid", "Allow"],
        Field(
            description="What happens to pods of the queue with a PriorityClass that lets kube-scheduler preempt "
            "others, which ignores quotas (one without preemptionPolicy: Never). Warn (default): the "
            "webhook, if it runs, warns and says what to do instead. Forbid: the webhook refuses such"
            " pods, and existing ones are not admitted, in this queue and in all below it. Allow: "
            "nothing."
        ),
    ] = "Warn"
    ageing: Annotated[
        Ageing | None,
        Field(
            description="Lets the priority of the queue's pods grow while they wait; this affects only the order."
            " Left out: the priority does not grow."
        ),
        SchemaKeys(**rules(BOUNDED)),
    ] = None
    preemption: Annotated[
        Preemption,
        Field(
            description="Which pods the queue's workloads evict in order to be admitted. Only pods whose owner "
            "recreates them without counting a failure are evicted; allowBarePods and allowJobRetries"
            " of the victim's queue change that."
        ),
    ] = Preemption()
    stop_policy: Annotated[
        StopPolicy,
        Field(
            description="None (default): the queue admits. Hold: neither this queue nor those below it admit "
            "pods; running pods continue. HoldAndDrain: as Hold, and admitted pods are evicted if "
            "their owner recreates them without counting a failure; the condition Drained reports "
            "those that stay."
        ),
    ] = "None"
    allow_bare_pods: Annotated[
        StrictBool,
        Field(
            description="Whether pods that no owner recreates may also be evicted. Default: false, they run to "
            "their end."
        ),
    ] = False
    allow_job_retries: Annotated[
        StrictBool,
        Field(
            description="Whether pods whose Job counts the eviction as a failure may be evicted, as long as its "
            "backoffLimit leaves retries. Default: false, only pods of Jobs whose podFailurePolicy "
            "ignores DisruptionTarget are."
        ),
    ] = False
    reclaim_over_quota: Annotated[
        StrictBool,
        Field(
            description="Whether pods are evicted when the queue, with all queues below it, uses more than its "
            "quotas and limits: lower priorities first, and only pods whose owner recreates them "
            "without counting a failure. Default: false, they run to their end."
        ),
    ] = False
    reservation_timeout: Annotated[
        DurationText | None,
        Field(
            description="How long an admitted pod may be without a node, such as 15m, at most 744h. After that "
            "its condition reports it, with the scheduler's message, and others may use the room that"
            " was planned for it. The pod keeps its quota. Left out: for ever."
        ),
    ] = None
    on_reservation_timeout: Annotated[
        Literal["Keep", "Evict"],
        Field(
            description="Keep (default): such a pod stays. Evict: it is evicted if its owner recreates it without"
            " counting a failure, and waits again. Only with reservationTimeout."
        ),
    ] = "Keep"
    max_run_time: Annotated[
        DurationText | None,
        Field(
            description="How long an admitted pod or Job of the queue may run, such as 8h, at most 744h. Penstock "
            "writes activeDeadlineSeconds when it admits it, so that Kubernetes ends it then. Of a Job that is held "
            "as a whole the time of all its admissions counts. Left out: as long as it likes."
        ),
    ] = None
    schedule: Annotated[
        tuple[ScheduleWindow, ...],
        Field(
            description="Windows that override quotas, limits and stopPolicy while they are open. If several open"
            " windows override the same field, the last in the list wins.",
            max_length=16,
        ),
        unique_names("window"),
        BY_NAME,
    ] = ()

    budgets: Annotated[
        tuple[Budget, ...],
        Field(
            description="What pods of the queue, and of all queues below it, may use over time. Running pods "
            "continue when a budget is used up.",
            max_length=8,
        ),
        unique_names("budget"),
        BY_NAME,
    ] = ()
    fair_sharing: Annotated[
        FairSharing | None,
        Field(
            description="On the root of a tree: its queues take turns, those that have borrowed less first. On "
            "queues below: their weight. Left out on the root: only the order of workloads decides."
        ),
    ] = None

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
    def _preempts_somebody(self) -> Self:
        given, preemption = self.flavor_fungibility.when_can_preempt, self.preemption
        is_any = preemption.within_cluster_queue != "Never" or preemption.reclaim_within_cohort != "Never"
        if given != "TryNextFlavor" and not is_any:
            refuse([Fault(("flavorFungibility", "whenCanPreempt"), given, _NOBODY_TO_PREEMPT)])
        return self

    @model_validator(mode="after")
    def _shares_where_it_may(self) -> Self:
        refuse(faults_of(self.fair_sharing, has_parent=self.parent is not None))
        return self

    @model_validator(mode="after")
    def _limits_of_the_tree_need_a_parent(self) -> Self:
        if self.parent is None:
            refuse(faults_without_parent([flavor.resources for flavor in self.flavors], ()))
            for at, window in enumerate(self.schedule):
                refuse(faults_without_parent([flavor.resources for flavor in window.flavors], ("schedule", at)))
        return self


class ClusterQueue(Resource):
    """A quota on flavors, and the namespaces that may use it through their LocalQueues."""

    definition: ClassVar[Definition] = Definition(
        kind="ClusterQueue",
        plural="clusterqueues",
        short_name="pcq",
        namespaced=False,
        columns=(
            Column("Parent", ".spec.parent", "string", "The queue above, through which it borrows"),
            Column(
                "Strategy",
                ".spec.queueingStrategy",
                "string",
                "Whether later workloads may pass one that does not fit",
                priority=1,
            ),
            Column("Stop", ".spec.stopPolicy", "string", "Whether the queue is held", priority=1),
            Column("Pending", ".status.pending", "integer", "Pods that wait"),
            Column("Reserved", ".status.reserved", "integer", "Pods admitted and not yet on nodes"),
            Column("Running", ".status.running", "integer", "Pods on nodes"),
            Column("Used", ".status.columns.used", "string", "How much of its quota is used, by flavor"),
            Column("Borrowed", ".status.columns.borrowed", "string", "How much it uses beyond its quota, by flavor"),
            Column(
                "Open-Windows",
                ".status.columns.openWindows",
                "string",
                "Windows of the schedule that are open",
                priority=1,
            ),
            Column(
                "Next-Change",
                ".status.schedule.nextChange",
                "string",
                "When the next window opens or closes",
                priority=1,
            ),
            active("Whether the queue admits"),
            AGE,
        ),
    )

    kind: Literal["ClusterQueue"] = "ClusterQueue"
    spec: ClusterQueueSpec
    status: ClusterQueueStatus = ClusterQueueStatus()
