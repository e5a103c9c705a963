"""How a SchedulingPolicy speaks of many affinities at once: by forms of requirements on nodes, and whole parts.

Everywhere a list that is left out allows none, and an empty one allows all. What meets a form belongs to
`controller.core.scheduling_policies.forms`.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from controller.api.base import Model
from controller.api.rules import Fault, Rule, SchemaKeys, refuse, rules
from controller.api.values import LabelKey, LabelValue, Subdomain

_TERMS_LIMIT = 8
_FORMS_LIMIT = 12
_FIELD_FORMS_LIMIT = 4
_KEYS_LIMIT = 12
_VALUES_LIMIT = 64
_ATOMIC = SchemaKeys(x_kubernetes_list_type="atomic")
_SAYS_NOTHING = "must have matchExpressions or matchFields, because an empty term requires nothing"
_NO_KIND = "must name nodeAffinities, podAffinities or podAntiAffinities"

NodeOperator = Literal["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]
Keys = Annotated[
    tuple[LabelKey, ...],
    Field(description="Any of these keys. Left out: none. Empty: every key.", max_length=_KEYS_LIMIT),
    _ATOMIC,
]
Values = Annotated[
    tuple[LabelValue, ...],
    Field(description="Any of these values. Left out: none. Empty: every value.", max_length=_VALUES_LIMIT),
    _ATOMIC,
]


class ExpressionForm(Model):
    """Requirements on node labels: any of the keys with any of the operators and of the values."""

    keys: Keys | None = None
    operators: Annotated[
        tuple[NodeOperator, ...] | None,
        Field(description="Any of these operators. Left out: none. Empty: every operator.", max_length=6),
        _ATOMIC,
    ] = None
    values: Values | None = None


class FieldForm(Model):
    """Requirements on a field of the node; Kubernetes only supports its name."""

    keys: Annotated[
        tuple[Literal["metadata.name"], ...] | None,
        Field(description="metadata.name. Left out: none. Empty: the same as metadata.name.", max_length=1),
        _ATOMIC,
    ] = None
    operators: Annotated[
        tuple[Literal["In", "NotIn"], ...] | None,
        Field(description="Any of these operators. Left out: none. Empty: both.", max_length=2),
        _ATOMIC,
    ] = None
    values: Annotated[
        tuple[Subdomain, ...] | None,
        Field(description="Any of these names. Left out: none. Empty: every name.", max_length=_VALUES_LIMIT),
        _ATOMIC,
    ] = None


ExpressionForms = Annotated[
    tuple[ExpressionForm, ...],
    Field(description="Requirements on the node's labels. Left out: none. Empty: all.", max_length=_FORMS_LIMIT),
    _ATOMIC,
]
FieldForms = Annotated[
    tuple[FieldForm, ...],
    Field(description="Requirements on the node's name. Left out: none. Empty: all.", max_length=_FIELD_FORMS_LIMIT),
    _ATOMIC,
]


class TermForm(Model):
    """Requirements that pods may have, in any combination."""

    match_expressions: ExpressionForms | None = None
    match_fields: FieldForms | None = None


class RequiredTermForm(Model):
    """Requirements, all of which a term of a pod must have."""

    model_config = ConfigDict(
        json_schema_extra=rules(Rule("has(self.matchExpressions) || has(self.matchFields)", _SAYS_NOTHING))
    )

    match_expressions: Annotated[
        tuple[ExpressionForm, ...] | None,
        Field(description="Requirements on the node's labels.", min_length=1, max_length=_FORMS_LIMIT),
        _ATOMIC,
    ] = None
    match_fields: Annotated[
        tuple[FieldForm, ...] | None,
        Field(description="Requirements on the node's name.", min_length=1, max_length=_FIELD_FORMS_LIMIT),
        _ATOMIC,
    ] = None

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if self.match_expressions is None and self.match_fields is None:
            refuse([Fault((), {}, _SAYS_NOTHING)])
        return self


class NodeForms(Model):
    """Requirements that pods may make in this part of their node affinity. Empty, {}: all."""

    node_selector_terms: Annotated[
        tuple[TermForm, ...] | None,
        Field(description="The requirements, of all terms together. Left out or empty: all.", max_length=_TERMS_LIMIT),
        _ATOMIC,
    ] = None


class RequiredNodeForms(Model):
    """What this part of a pod's node affinity must be like. Empty, {}: anything, but not nothing."""

    node_selector_terms: Annotated[
        tuple[RequiredTermForm, ...] | None,
        Field(
            description="Alternatives, one of which must hold. Left out: anything is accepted.",
            min_length=1,
            max_length=_TERMS_LIMIT,
        ),
        _ATOMIC,
    ] = None


class AnyTerms(Model):
    """Terms of this part, whatever they say. Written {}."""


class NodeParts(Model):
    """Node affinity that pods may use. Empty, {}: all."""

    required_during_scheduling_ignored_during_execution: Annotated[
        NodeForms | None, Field(description="What pods may demand of nodes. Left out: nothing. Empty, {}: all.")
    ] = None
    preferred_during_scheduling_ignored_during_execution: Annotated[
        NodeForms | None, Field(description="What pods may prefer of nodes. Left out: nothing. Empty, {}: all.")
    ] = None


class RequiredNodeParts(Model):
    """Node affinity that pods must use. Empty, {}: any of it."""

    required_during_scheduling_ignored_during_execution: Annotated[
        RequiredNodeForms | None, Field(description="What pods must demand of nodes. Empty, {}: something.")
    ] = None
    preferred_during_scheduling_ignored_during_execution: Annotated[
        RequiredNodeForms | None, Field(description="What pods must prefer of nodes. Empty, {}: something.")
    ] = None


class PodParts(Model):
    """Affinity to other pods, or from them. Empty, {}: both parts, of which a pod must use one where it is required."""

    required_during_scheduling_ignored_during_execution: Annotated[
        AnyTerms | None, Field(description="Requirements. Written {}.")
    ] = None
    preferred_during_scheduling_ignored_during_execution: Annotated[
        AnyTerms | None, Field(description="Preferences. Written {}.")
    ] = None


class AllowedAffinities(Model):
    """Affinities that pods may use. Empty, {}: all."""

    node_affinities: Annotated[NodeParts | None, Field(description="To nodes. Left out: none. Empty, {}: all.")] = None
    pod_affinities: Annotated[PodParts | None, Field(description="To pods. Left out: none. Empty, {}: all.")] = None
    pod_anti_affinities: Annotated[
        PodParts | None, Field(description="Away from pods. Left out: none. Empty, {}: all.")
    ] = None


class RequiredAffinities(Model):
    """Affinities that pods must use."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            Rule("has(self.nodeAffinities) || has(self.podAffinities) || has(self.podAntiAffinities)", _NO_KIND)
        )
    )

    node_affinities: Annotated[RequiredNodeParts | None, Field(description="To nodes. Empty, {}: any.")] = None
    pod_affinities: Annotated[PodParts | None, Field(description="To pods. Empty, {}: any.")] = None
    pod_anti_affinities: Annotated[PodParts | None, Field(description="Away from pods. Empty, {}: any.")] = None

    @model_validator(mode="after")
    def _names_a_kind(self) -> Self:
        if not any(kind is not None for kind in (self.node_affinities, self.pod_affinities, self.pod_anti_affinities)):
            refuse([Fault((), {}, _NO_KIND)])
        return self
