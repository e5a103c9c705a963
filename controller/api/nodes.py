"""How a spec selects nodes and namespaces and tolerates taints: Kubernetes' own shapes with Kubernetes' own rules.

Mirrors ValidateNodeSelectorRequirement and ValidateTolerations (k8s.io/kubernetes) and ValidateLabelSelector
(k8s.io/apimachinery). What a selector matches belongs to `controller.core.kubernetes.labels`.
"""

from __future__ import annotations

import re
from typing import Annotated, Literal, Self

from pydantic import ConfigDict, Field, StrictInt, StrictStr, model_validator

from controller.api.base import Model
from controller.api.rules import Fault, Rule, SchemaKeys, refuse, rules
from controller.api.values import LABEL_KEY_MESSAGE, LabelKey, Labels, LabelValue, label_key_cel
from controller.core.kubernetes.names import is_label_key

_VALUES_LIMIT = 128
_ATOMIC = SchemaKeys(x_kubernetes_list_type="atomic")

_WANTS_VALUES = "must list at least one value when operator is In or NotIn"
_WANTS_NONE = "must be empty when operator is Exists or DoesNotExist"
_WANTS_NUMBER = "must be one whole number of at most 18 digits when operator is Gt or Lt"
_NUMBER = "^[0-9]{1,18}$"

_LISTED = "(has(self.values) ? '[' + self.values.join(', ') + ']' : '[]')"
_VALUES_RULES = (
    Rule(
        "!(self.operator in ['In', 'NotIn']) || (has(self.values) && size(self.values) > 0)",
        f"values {_WANTS_VALUES}",
        f"{_LISTED} + ': values {_WANTS_VALUES}'",
        field_path=".values",
    ),
    Rule(
        "!(self.operator in ['Exists', 'DoesNotExist']) || !has(self.values) || size(self.values) == 0",
        f"values {_WANTS_NONE}",
        f"{_LISTED} + ': values {_WANTS_NONE}'",
        field_path=".values",
    ),
)
_NUMBER_RULE = Rule(
    "!(self.operator in ['Gt', 'Lt']) ||"
    f" (has(self.values) && size(self.values) == 1 && self.values[0].matches('{_NUMBER}'))",
    f"values {_WANTS_NUMBER}",
    f"{_LISTED} + ': values {_WANTS_NUMBER}'",
    field_path=".values",
)

Values = Annotated[
    tuple[LabelValue, ...],
    Field(
        description="At least one with In and NotIn, one whole number with Gt and Lt, else none.",
        max_length=_VALUES_LIMIT,
    ),
    _ATOMIC,
]


class SelectorRequirement(Model):
    """One requirement on one label, as in metav1.LabelSelector."""

    model_config = ConfigDict(json_schema_extra=rules(*_VALUES_RULES))

    key: Annotated[LabelKey, Field(description="The label's key.")]
    operator: Annotated[
        Literal["In", "NotIn", "Exists", "DoesNotExist"],
        Field(description="How the label relates to values: In, NotIn, Exists or DoesNotExist."),
    ]
    values: Values = ()

    @model_validator(mode="after")
    def _values_suit_the_operator(self) -> Self:
        refuse(_faults_of_values(self.operator, self.values))
        return self


class NodeRequirement(Model):
    """One requirement on one node label, as in core/v1 NodeSelectorRequirement."""

    model_config = ConfigDict(json_schema_extra=rules(*_VALUES_RULES, _NUMBER_RULE))

    key: Annotated[LabelKey, Field(description="The node label's key.")]
    operator: Annotated[
        Literal["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"],
        Field(description="How the label relates to values: In, NotIn, Exists, DoesNotExist, Gt or Lt."),
    ]
    values: Values = ()

    @model_validator(mode="after")
    def _values_suit_the_operator(self) -> Self:
        refuse(_faults_of_values(self.operator, self.values))
        return self


def _faults_of_values(operator: str, values: tuple[str, ...]) -> list[Fault]:
    listed = list(values)
    if operator in ("In", "NotIn") and not values:
        return [Fault(("values",), listed, _WANTS_VALUES)]
    if operator in ("Exists", "DoesNotExist") and values:
        return [Fault(("values",), listed, _WANTS_NONE)]
    if operator in ("Gt", "Lt") and (len(values) != 1 or not re.fullmatch(_NUMBER, values[0])):
        return [Fault(("values",), listed, _WANTS_NUMBER)]
    return []


class LabelSelector(Model):
    """Selects objects by label, as metav1.LabelSelector: all of it must hold; an empty one selects everything."""

    model_config = ConfigDict(json_schema_extra={"x-kubernetes-map-type": "atomic"})

    match_labels: Annotated[Labels, Field(description="Labels that the object must have, with these values.")] = Field(
        default_factory=dict
    )
    match_expressions: Annotated[
        tuple[SelectorRequirement, ...],
        Field(description="Requirements that must all hold.", max_length=32),
        _ATOMIC,
    ] = ()


_EXISTS_FOR_ALL = "must be Exists when key is empty, which tolerates every taint"
_NO_VALUE = "must be empty when operator is Exists"
_ONLY_NO_EXECUTE = "must be NoExecute when tolerationSeconds is set"


TOLERATION_RULES = (
    Rule(
        f"!has(self.key) || self.key == '' || ({label_key_cel('self.key')})",
        f"key {LABEL_KEY_MESSAGE}",
        f"'\"' + self.key + '\": key {LABEL_KEY_MESSAGE}'",
        field_path=".key",
    ),
    Rule(
        "(has(self.key) && self.key != '') || self.operator == 'Exists'",
        f"operator {_EXISTS_FOR_ALL}",
        f"'\"' + self.operator + '\": operator {_EXISTS_FOR_ALL}'",
        field_path=".operator",
    ),
    Rule(
        "!has(self.tolerationSeconds) || (has(self.effect) && self.effect == 'NoExecute')",
        f"effect {_ONLY_NO_EXECUTE}",
        f"'\"' + (has(self.effect) ? self.effect : '') + '\": effect {_ONLY_NO_EXECUTE}'",
        field_path=".effect",
    ),
)
"""Of whatever has key, operator, effect and tolerationSeconds as a toleration has them."""

_VALUE_RULE = Rule(
    "self.operator != 'Exists' || !has(self.value) || self.value == ''",
    f"value {_NO_VALUE}",
    f"'\"' + self.value + '\": value {_NO_VALUE}'",
    field_path=".value",
)

TolerationKey = Annotated[
    StrictStr, Field(description="The taint's key; empty, with operator Exists, for every taint.", max_length=317)
]
TolerationEffect = Annotated[
    Literal["", "NoSchedule", "PreferNoSchedule", "NoExecute"],
    Field(description="NoSchedule, PreferNoSchedule or NoExecute; empty for every effect."),
]
TolerationSeconds = Annotated[
    StrictInt | None,
    Field(description="How long a running pod stays after the taint was added; only with NoExecute. Unset: for ever."),
    SchemaKeys(format="int64"),
]


def faults_of_toleration(key: str, operator: str, effect: str, seconds: int | None) -> list[Fault]:
    """Say what TOLERATION_RULES say."""
    faults = []
    if key and not is_label_key(key):
        faults.append(Fault(("key",), key, LABEL_KEY_MESSAGE))
    if not key and operator != "Exists":
        faults.append(Fault(("operator",), operator, _EXISTS_FOR_ALL))
    if seconds is not None and effect != "NoExecute":
        faults.append(Fault(("effect",), effect, _ONLY_NO_EXECUTE))
    return faults


class Toleration(Model):
    """Lets pods onto nodes with a matching taint, as core/v1 Toleration."""

    model_config = ConfigDict(json_schema_extra=rules(*TOLERATION_RULES, _VALUE_RULE))

    key: TolerationKey = ""
    operator: Annotated[
        Literal["Equal", "Exists"],
        Field(description="Equal (default): key and value are the taint's. Exists: any value of the key."),
    ] = "Equal"
    value: Annotated[LabelValue, Field(description="The taint's value; empty when operator is Exists.")] = ""
    effect: TolerationEffect = ""
    toleration_seconds: TolerationSeconds = None

    @model_validator(mode="after")
    def _is_a_core_toleration(self) -> Self:
        faults = faults_of_toleration(self.key, self.operator, self.effect, self.toleration_seconds)
        if self.operator == "Exists" and self.value:
            faults.append(Fault(("value",), self.value, _NO_VALUE))
        refuse(faults)
        return self
