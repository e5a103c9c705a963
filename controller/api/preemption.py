"""Preemption as a ClusterQueue writes it: whom its workloads may evict. The search is `core.preemption.preempting`."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import ConfigDict, Field, StrictInt, model_validator

from controller.api.base import Model
from controller.api.rules import Fault, Rule, refuse, rules
from controller.api.schedule import DurationText

_NEEDS_POLICY = "is for policy LowerPriority"
_NEEDS_RECLAIM = "needs reclaimWithinCohort: whom it may not reclaim from, it cannot borrow from either"
_INT32 = 2**31


class BorrowWithinCohort(Model):
    """Preemption by a workload that borrows afterwards."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            Rule(
                "!has(self.maxPriorityThreshold) || self.policy != 'Never'",
                f"maxPriorityThreshold {_NEEDS_POLICY}",
                field_path=".maxPriorityThreshold",
            )
        )
    )

    policy: Annotated[
        Literal["Never", "LowerPriority"],
        Field(
            description="Never (default): a workload preempts pods of other queues only if it then stays within "
            "its queue's own quota. LowerPriority: it may borrow, and preempts pods of lower "
            "priority."
        ),
    ] = "Never"
    max_priority_threshold: Annotated[
        StrictInt | None,
        Field(
            description="Only pods up to this priority are preempted. Left out: all of lower priority.",
            ge=-_INT32,
            le=_INT32 - 1,
        ),
    ] = None

    @model_validator(mode="after")
    def _limits_something(self) -> Self:
        if self.max_priority_threshold is not None and self.policy == "Never":
            refuse([Fault(("maxPriorityThreshold",), self.max_priority_threshold, _NEEDS_POLICY)])
        return self


class Preemption(Model):
    """Whom the queue's workloads may evict to be admitted."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            Rule(
                "self.borrowWithinCohort.policy == 'Never' || self.reclaimWithinCohort != 'Never'",
                f"borrowWithinCohort {_NEEDS_RECLAIM}",
                field_path=".borrowWithinCohort",
            )
        )
    )

    within_cluster_queue: Annotated[
        Literal["Never", "LowerPriority", "LowerOrNewerEqualPriority"],
        Field(
            description="Which pods of its own queue a workload preempts when it finds no quota or room: Never "
            "(default): none; LowerPriority: those of lower priority; LowerOrNewerEqualPriority: also"
            " newer ones of the same priority."
        ),
    ] = "Never"
    reclaim_within_cohort: Annotated[
        Literal["Never", "LowerPriority", "Any"],
        Field(
            description="Which pods of other queues of the tree that have borrowed are preempted: Never "
            "(default): none; LowerPriority: those of lower priority; Any: all."
        ),
    ] = "Never"
    borrow_within_cohort: Annotated[
        BorrowWithinCohort, Field(description="Preemption by a workload that borrows afterwards.")
    ] = BorrowWithinCohort()
    minimum_runtime: Annotated[
        DurationText | None,
        Field(
            description="How long after its start a pod of this queue is not preempted, such as 10m, at most "
            "744h. Left out: it may be preempted at once."
        ),
    ] = None

    @model_validator(mode="after")
    def _borrows_from_whom_it_reclaims(self) -> Self:
        if self.borrow_within_cohort.policy != "Never" and self.reclaim_within_cohort == "Never":
            refuse([Fault(("borrowWithinCohort",), self.borrow_within_cohort.policy, _NEEDS_RECLAIM)])
        return self
