"""WorkloadPriorityClass as it is written: a priority that orders in our queues and means nothing to kube-scheduler."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, StrictInt

from controller.api.base import AGE, Column, Conditions, Count, Definition, Model, Resource, Status, active
from controller.api.rules import SchemaKeys

_LOWEST, _HIGHEST = -(2**31), 2**31 - 1


class WorkloadPriorityClassSpec(Model):
    """The priority, and what it is for."""

    value: Annotated[
        StrictInt,
        Field(
            description=(
                "The priority in the queue of pods that name this class, in place of that of their PriorityClass: the "
                "greater goes first. A change moves those that wait."
            ),
            ge=_LOWEST,
            le=_HIGHEST,
        ),
        SchemaKeys(format="int32"),
    ]
    description: Annotated[
        str, Field(description="What the class is for, for people who choose one.", max_length=1024)
    ] = ""


class WorkloadPriorityClassStatus(Status):
    """Who goes by the class now."""

    pending: Annotated[Count, Field(description="Pods that wait and name the class.")] = 0
    conditions: Conditions = ()


class WorkloadPriorityClass(Resource):
    """A priority that only orders in the queue; pods name it by the label penstock.dev/priority-class."""

    definition: ClassVar[Definition] = Definition(
        kind="WorkloadPriorityClass",
        plural="workloadpriorityclasses",
        short_name="pwpc",
        namespaced=False,
        columns=(
            Column("Value", ".spec.value", "integer", "The priority in the queue; the greater goes first"),
            Column("Pending", ".status.pending", "integer", "Pods that wait and name the class"),
            active("Whether pods that name the class are ordered by it"),
            Column("Description", ".spec.description", "string", "What the class is for", priority=1),
            AGE,
        ),
    )

    kind: Literal["WorkloadPriorityClass"] = "WorkloadPriorityClass"
    spec: WorkloadPriorityClassSpec
    status: WorkloadPriorityClassStatus = WorkloadPriorityClassStatus()
