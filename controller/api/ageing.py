"""The part of a ClusterQueue that lets priority grow while a workload waits, as it is written."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import AfterValidator, Field, StrictInt, StrictStr, model_validator

from controller.api.base import Model
from controller.api.rules import Fault, Rule, SchemaKeys, fault, refuse, rules
from controller.core.calendar.durations import DURATION_PATTERN, DurationError, parse_duration

_SHORTEST, _LONGEST = 60, 744 * 3600
_FORM = 'must be a duration from 1m to 744h (31 days), such as "15m", "1h" or "1h30m"'
_LARGEST = 2**31 - 1
_MOST_IS_LESS = "must be at least what one step adds (by)"
BOUNDED = Rule("self.most >= self.by", f"most {_MOST_IS_LESS}", field_path=".most")


def _checked(text: str) -> str:
    try:
        seconds = parse_duration(text)
    except DurationError as error:
        raise fault(_FORM) from error
    if not _SHORTEST <= seconds <= _LONGEST:
        raise fault(_FORM)
    return text


_IS_PERIOD = (
    f"self != '' && self.matches('^{DURATION_PATTERN}$')"
    " && duration(self) >= duration('1m') && duration(self) <= duration('744h')"
)


class Ageing(Model):
    """How priority grows."""

    every: Annotated[
        StrictStr,
        Field(description="How long a pod waits for each step, from its creation: 1m to 744h.", max_length=24),
        AfterValidator(_checked),
        SchemaKeys(**rules(Rule(_IS_PERIOD, _FORM))),
    ]
    by: Annotated[
        StrictInt,
        Field(description="What each step adds to the priority.", ge=1, le=_LARGEST),
        SchemaKeys(format="int32"),
    ]
    most: Annotated[
        StrictInt, Field(description="The most that is added in total.", ge=1, le=_LARGEST), SchemaKeys(format="int32")
    ]

    @model_validator(mode="after")
    def _a_step_is_not_more_than_all(self) -> Self:
        if self.most < self.by:
            refuse([Fault(("most",), self.most, _MOST_IS_LESS)])
        return self
