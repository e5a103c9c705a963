"""Preemption that breaks one rule each, for the table in `faulty_objects`."""

from __future__ import annotations

from tests.support.api_objects import cluster_queue
from tests.support.faulty import Faulty

_NOBODY = "goes only with spec.parent: without one nobody borrows from it"
_RECLAIM = "needs reclaimWithinCohort: whom it may not reclaim from, it cannot borrow from either"
_POLICY = "is for policy LowerPriority"

PREEMPTION = (
    Faulty(
        "reclaiming without a parent",
        cluster_queue(preemption={"reclaimWithinCohort": "Any"}),
        f'spec.preemption.reclaimWithinCohort: "Any": {_NOBODY}',
        f"spec.preemption: Invalid value: reclaimWithinCohort {_NOBODY}",
    ),
    Faulty(
        "borrowing from whom it may not reclaim from",
        cluster_queue(parent="org", preemption={"borrowWithinCohort": {"policy": "LowerPriority"}}),
        f'spec.preemption.borrowWithinCohort: "LowerPriority": {_RECLAIM}',
        f"spec.preemption.borrowWithinCohort: Invalid value: borrowWithinCohort {_RECLAIM}",
    ),
    Faulty(
        "a threshold of nobody",
        cluster_queue(preemption={"borrowWithinCohort": {"maxPriorityThreshold": 3}}),
        f"spec.preemption.borrowWithinCohort.maxPriorityThreshold: 3: {_POLICY}",
        f"spec.preemption.borrowWithinCohort.maxPriorityThreshold: Invalid value: maxPriorityThreshold {_POLICY}",
    ),
    Faulty(
        "preemption that nobody knows",
        cluster_queue(preemption={"withinClusterQueue": "Always"}),
        "spec.preemption.withinClusterQueue: \"Always\": must be 'Never', 'LowerPriority' or "
        "'LowerOrNewerEqualPriority'",
        'spec.preemption.withinClusterQueue: Unsupported value: "Always": supported values: "Never", "LowerPriority", '
        '"LowerOrNewerEqualPriority"',
    ),
)
