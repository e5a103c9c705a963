"""WorkloadPriorityClass as it is written: a priority that orders in our queues and means nothing to kube-scheduler."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, StrictInt

from controller.api.base import AGE, Column, Conditions, Count, Definition, Model, Resource, Status, active
from controller.api.rules import SchemaKeys
from controller.api.schedule import DurationText

_LOWEST, _HIGHEST = -(2**31), 2**31 - 1


class WorkloadPriorityClassSpec(Model):
    """The priority, and what it is for."""

    value: Annotated[
        StrictInt,
        Field(
            description=(
                "The priority in queues of pods that name this class, instead of that of their PriorityClass; "
                "greater values go first. A change also applies to waiting pods."
            ),
            ge=_LOWEST,
            le=_HIGHEST,
        ),
        SchemaKeys(format="int32"),
    ]
    max_run_time: Annotated[
        DurationText | None,
        Field(
            description="How long an admitted pod or Job of the class may run, such as 1h, at most 744h; where its "
            "queue has a maxRunTime too, the shorter one applies. Left out: the class does not limit it."
        ),
    ] = None
    description: Annotated[str, Field(description="What the class is for.", max_length=1024)] = ""


class WorkloadPriorityClassStatus(Status):
    """The observed state of the class."""

    pending: Annotated[Count, Field(description="Waiting pods that name the class.")] = 0
    conditions: Conditions = ()


class WorkloadPriorityClass(Resource):
    """A priority that only affects the order in queues; pods name it by the label penstock.dev/priority-class."""

    definition: ClassVar[Definition] = Definition(
        kind="WorkloadPriorityClass",
        plural="workloadpriorityclasses",
        short_name="pwpc",
        namespaced=False,
        columns=(
            Column("Value", ".spec.value", "integer", "The priority in the queue; greater values go first"),
            Column("Pending", ".status.pending", "integer", "Waiting pods that name the class"),
            active("Whether the class is in effect"),
            Column("Description", ".spec.description", "string", "What the class is for", priority=1),
            AGE,
        ),
    )

    kind: Literal["WorkloadPriorityClass"] = "WorkloadPriorityClass"
    spec: WorkloadPriorityClassSpec
    status: WorkloadPriorityClassStatus = WorkloadPriorityClassStatus()
