"""WorkloadPriorityClasses that break one rule each, with what is said of it: a part of `faulty_objects`."""

from __future__ import annotations

from tests.support.api_objects import priority_class
from tests.support.faulty import Faulty

PRIORITIES: tuple[Faulty, ...] = (
    Faulty(
        "a priority that is no 32-bit number",
        priority_class(value=2**31),
        "spec.value: 2147483648: must be at most 2147483647",
        "spec.value: Invalid value: 2147483648: spec.value in body should be less than or equal to 2147483647",
    ),
    Faulty(
        "a priority class without a value",
        {**priority_class(), "spec": {}},
        "spec.value: is required",
        "spec.value: Required value",
    ),
)
