"""WorkloadPriorityClasses, what queues say of classes, and ageing with one fault each, for `faulty_objects`."""

from __future__ import annotations

from typing import Any

from controller.api.values import NAME_MESSAGE
from tests.support.api_objects import Json, cluster_queue, priority_class
from tests.support.faulty import Faulty

_PERIOD = 'must be a duration from 1m to 744h (31 days), such as "15m", "1h" or "1h30m"'


def _ageing(**fields: Any) -> Json:
    return cluster_queue(ageing={"every": "1h", "by": 10, "most": 100, **fields})


def _every(text: str) -> Faulty:
    return Faulty(
        f"ageing every {text!r}",
        _ageing(every=text),
        f'spec.ageing.every: "{text}": {_PERIOD}',
        f'spec.ageing.every: Invalid value: "{text}": {_PERIOD}',
    )


PRIORITIES: tuple[Faulty, ...] = (
    Faulty(
        "an allowed class that cannot be a name",
        cluster_queue(allowedPriorityClasses=["normal", "Very Urgent"]),
        f'spec.allowedPriorityClasses[1]: "Very Urgent": {NAME_MESSAGE}',
        'spec.allowedPriorityClasses[1]: Invalid value: "Very Urgent": spec.allowedPriorityClasses[1] in body '
        "should match",
    ),
    Faulty(
        "a word for kube-scheduler's preemption that there is not",
        cluster_queue(schedulerPreemption="Never"),
        "spec.schedulerPreemption: \"Never\": must be 'Warn', 'Forbid' or 'Allow'",
        'spec.schedulerPreemption: Unsupported value: "Never": supported values: "Warn", "Forbid", "Allow"',
    ),
    Faulty(
        "a priority that is no 32-bit number",
        priority_class(value=2**31),
        "spec.value: 2147483648: must be at most 2147483647",
        "spec.value: Invalid value: 2147483648: spec.value in body should be less than or equal to 2147483647",
    ),
    *map(_every, ("", "59s", "745h", "1d", "-1h")),
    Faulty(
        "ageing that grows by more than all of it",
        _ageing(by=101),
        "spec.ageing.most: 100: must be at least what one step adds (by)",
        "spec.ageing.most: Invalid value: most must be at least what one step adds (by)",
    ),
    Faulty(
        "ageing by nothing",
        _ageing(by=0),
        "spec.ageing.by: 0: must be at least 1",
        "spec.ageing.by: Invalid value: 0: spec.ageing.by in body should be greater than or equal to 1",
    ),
    Faulty(
        "ageing without a bound",
        cluster_queue(ageing={"every": "1h", "by": 1}),
        "spec.ageing.most: is required",
        "spec.ageing.most: Required value",
    ),
    Faulty(
        "a priority class without a value",
        {**priority_class(), "spec": {}},
        "spec.value: is required",
        "spec.value: Required value",
    ),
)
