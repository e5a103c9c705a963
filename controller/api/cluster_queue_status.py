"""The status of a ClusterQueue: what it and those below it hold and use at the moment."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import Field, StrictStr

from controller.api.base import Conditions, Count, Status
from controller.api.budget import BudgetStatus
from controller.api.fair_sharing import FairSharingStatus
from controller.api.schedule import BY_NAME, ScheduleStatus
from controller.api.values import ObjectName, ReportedQuantity, ReportedText

FLAVORS_REPORTED: Final = 64
"""In the status of a queue: one with queues below it reports their flavors too."""

LIMITS_REPORTED: Final = 64
"""Windows may name limits beside those of the queue."""


class ResourceUsage(Status):
    """Usage of one resource in one flavor."""

    name: Annotated[StrictStr, Field(description="The resource.", max_length=317)]
    total: Annotated[
        ReportedQuantity, Field(description="What admitted pods request, including those of the queues below.")
    ]
    quota: Annotated[
        ReportedQuantity,
        Field(description="What they may request at the moment without borrowing, including what queues below own."),
    ]
    borrowed: Annotated[
        ReportedQuantity, Field(description="How much of the total is borrowed through the parent.")
    ] = "0"


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
        ReportedQuantity, Field(description="What admitted pods request, including those of the queues below.")
    ]
    max: Annotated[ReportedQuantity, Field(description="What they may request at the moment.")]


class ClusterQueueColumns(Status):
    """Text for the columns of kubectl get, rounded."""

    used: Annotated[
        ReportedText,
        Field(description="How much of the quota is used, by flavor: `spot cpu 12/40; on-demand cpu 0/8`."),
    ] = ""
    borrowed: Annotated[ReportedText, Field(description="What is borrowed through the parent, by flavor.")] = ""
    open_windows: Annotated[ReportedText, Field(description="The windows of the schedule that are open.")] = ""


class ClusterQueueStatus(Status):
    """The observed state of the queue."""

    pending: Annotated[Count, Field(description="Pods that wait.")] = 0
    reserved: Annotated[Count, Field(description="Pods that are admitted and not yet on nodes.")] = 0
    running: Annotated[Count, Field(description="Pods that are on nodes.")] = 0
    flavors_usage: Annotated[
        tuple[FlavorUsage, ...], Field(description="Usage by flavor.", max_length=FLAVORS_REPORTED), BY_NAME
    ] = ()
    limits_usage: Annotated[
        tuple[LimitUsage, ...],
        Field(
            description="Usage of the resources that are limited at the moment, over all flavors.",
            max_length=LIMITS_REPORTED,
        ),
        BY_NAME,
    ] = ()
    schedule: Annotated[
        ScheduleStatus | None, Field(description="The schedule at the moment; absent without a schedule.")
    ] = None
    budgets: Annotated[
        tuple[BudgetStatus, ...], Field(description="The use of each budget.", max_length=8), BY_NAME
    ] = ()
    fair_sharing: Annotated[
        FairSharingStatus | None, Field(description="The share of the queue; absent if its tree does not share fairly.")
    ] = None
    columns: Annotated[ClusterQueueColumns, Field(description="Text for kubectl get.")] = ClusterQueueColumns()
    conditions: Conditions = ()
