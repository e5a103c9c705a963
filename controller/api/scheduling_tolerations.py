"""How a SchedulingPolicy speaks of tolerations: the forms that it allows, and those that it gives by default.

Everywhere a list that is left out allows none, and an empty one allows all. What meets a form belongs to
`controller.core.scheduling_policies.forms`.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from controller.api.base import Model
from controller.api.nodes import (
    TOLERATION_RULES,
    TolerationEffect,
    TolerationKey,
    TolerationSeconds,
    faults_of_toleration,
)
from controller.api.rules import Fault, Rule, SchemaKeys, refuse, rules
from controller.api.scheduling_forms import Keys, Values
from controller.api.values import LabelValue

_ATOMIC = SchemaKeys(x_kubernetes_list_type="atomic")


class TolerationForm(Model):
    """Tolerations: any of the keys, with any of the operators, values and effects."""

    keys: Annotated[
        Keys | None,
        Field(description="Left out: none. Empty: every key, and tolerations of every taint, which have none."),
    ] = None
    operators: Annotated[
        tuple[Literal["Equal", "Exists"], ...] | None,
        Field(
            description="Exists tolerates every value: it takes Exists here, or operators and values both empty.",
            max_length=2,
        ),
        _ATOMIC,
    ] = None
    values: Annotated[Values | None, Field(description="Values with Equal. Left out: none. Empty: every value.")] = None
    effects: Annotated[
        tuple[Literal["NoSchedule", "PreferNoSchedule", "NoExecute"], ...] | None,
        Field(
            description="Left out: none. Empty, or all three: every effect, also where a toleration names none.",
            max_length=3,
        ),
        _ATOMIC,
    ] = None


_WANTS_VALUES = "must list at least one value when operator is Equal"
_WANTS_NONE = "must be empty when operator is Exists"
_LISTED = "(has(self.values) ? '[' + self.values.join(', ') + ']' : '[]')"


class DefaultToleration(Model):
    """Tolerations of one key: one for each value."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            *TOLERATION_RULES,
            Rule(
                "self.operator != 'Equal' || (has(self.values) && size(self.values) > 0)",
                f"values {_WANTS_VALUES}",
                f"{_LISTED} + ': values {_WANTS_VALUES}'",
                field_path=".values",
            ),
            Rule(
                "self.operator != 'Exists' || !has(self.values) || size(self.values) == 0",
                f"values {_WANTS_NONE}",
                f"{_LISTED} + ': values {_WANTS_NONE}'",
                field_path=".values",
            ),
        )
    )

    key: TolerationKey = ""
    operator: Annotated[
        Literal["Equal", "Exists"],
        Field(description="Equal (default): key and value are the taint's. Exists: any value of the key."),
    ] = "Equal"
    values: Annotated[
        tuple[LabelValue, ...],
        Field(description="One toleration for each; none when operator is Exists.", max_length=16),
        _ATOMIC,
    ] = ()
    effect: TolerationEffect = ""
    toleration_seconds: TolerationSeconds = None

    @model_validator(mode="after")
    def _makes_core_tolerations(self) -> Self:
        faults = faults_of_toleration(self.key, self.operator, self.effect, self.toleration_seconds)
        if self.operator == "Equal" and not self.values:
            faults.append(Fault(("values",), [], _WANTS_VALUES))
        if self.operator == "Exists" and self.values:
            faults.append(Fault(("values",), list(self.values), _WANTS_NONE))
        refuse(faults)
        return self
