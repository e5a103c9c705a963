"""Where pods may run as core/v1 writes it: node affinity, pod affinity and anti-affinity, in the parts that work here.

Mirrors ValidateNodeSelectorTerm and validatePodAffinityTerm (k8s.io/kubernetes), with bounds. Stricter in one thing: an
empty node term is refused, since it matches no node where it is required and says nothing where it is preferred.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import ConfigDict, Field, StrictInt, model_validator

from controller.api.base import Model
from controller.api.nodes import LabelSelector, NodeRequirement
from controller.api.rules import Fault, Rule, SchemaKeys, refuse, rules
from controller.api.values import LabelKey, ObjectName, Subdomain

_TERMS_LIMIT = 16
_REQUIREMENTS_LIMIT = 12
_POD_TERMS_LIMIT = 4
_ATOMIC = SchemaKeys(x_kubernetes_list_type="atomic")
_NOT_EMPTY = "must have matchExpressions or matchFields, because an empty term matches no node"

Weight = Annotated[
    StrictInt,
    Field(description="The weight of this preference relative to others, from 1 to 100.", ge=1, le=100),
    SchemaKeys(format="int32"),
]


class FieldRequirement(Model):
    """One requirement on a field of the node; Kubernetes only supports its name."""

    key: Annotated[Literal["metadata.name"], Field(description="Always metadata.name.")]
    operator: Annotated[Literal["In", "NotIn"], Field(description="In or NotIn.")]
    values: Annotated[tuple[Subdomain, ...], Field(description="One name.", min_length=1, max_length=1), _ATOMIC]


class NodeTerm(Model):
    """An alternative: all of it must hold."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            Rule(
                "(has(self.matchExpressions) && size(self.matchExpressions) > 0)"
                " || (has(self.matchFields) && size(self.matchFields) > 0)",
                _NOT_EMPTY,
            )
        )
    )

    match_expressions: Annotated[
        tuple[NodeRequirement, ...],
        Field(description="Requirements on the node's labels.", max_length=_REQUIREMENTS_LIMIT),
        _ATOMIC,
    ] = ()
    match_fields: Annotated[
        tuple[FieldRequirement, ...], Field(description="Requirements on the node's name.", max_length=4), _ATOMIC
    ] = ()

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not self.match_expressions and not self.match_fields:
            refuse([Fault((), {}, _NOT_EMPTY)])
        return self


class NodeSelector(Model):
    """Alternatives, one of which must hold."""

    node_selector_terms: Annotated[
        tuple[NodeTerm, ...],
        Field(description="The alternatives; at least one.", min_length=1, max_length=_TERMS_LIMIT),
        _ATOMIC,
    ]


class PreferredNodes(Model):
    """One preference for nodes."""

    weight: Weight
    preference: Annotated[NodeTerm, Field(description="The preferred nodes.")]


class NodeAffinity(Model):
    """To which nodes pods go."""

    required_during_scheduling_ignored_during_execution: Annotated[
        NodeSelector | None, Field(description="Requirements on nodes.")
    ] = None
    preferred_during_scheduling_ignored_during_execution: Annotated[
        tuple[PreferredNodes, ...],
        Field(description="Preferences for nodes.", max_length=_TERMS_LIMIT),
        _ATOMIC,
    ] = ()


class PodTerm(Model):
    """The pods, and what counts as near."""

    label_selector: Annotated[LabelSelector | None, Field(description="Which pods; left out, none.")] = None
    namespaces: Annotated[
        tuple[ObjectName, ...],
        Field(description="Their namespaces; with no namespaceSelector either, the pod's own.", max_length=16),
        _ATOMIC,
    ] = ()
    namespace_selector: Annotated[
        LabelSelector | None,
        Field(description="Their namespaces by label, in addition to those listed. Empty, {}: all."),
    ] = None
    topology_key: Annotated[
        LabelKey,
        Field(description="The node label: nodes with the same value are one place.", min_length=1),
    ]


class PreferredPods(Model):
    """One preference for being near to pods, or away from them."""

    weight: Weight
    pod_affinity_term: Annotated[PodTerm, Field(description="The pods, and what counts as near.")]


class PodAffinity(Model):
    """To which pods others are near, or from which they keep away."""

    required_during_scheduling_ignored_during_execution: Annotated[
        tuple[PodTerm, ...], Field(description="Terms that must all hold.", max_length=_POD_TERMS_LIMIT), _ATOMIC
    ] = ()
    preferred_during_scheduling_ignored_during_execution: Annotated[
        tuple[PreferredPods, ...], Field(description="Preferences.", max_length=_POD_TERMS_LIMIT), _ATOMIC
    ] = ()


class Affinity(Model):
    """core/v1 Affinity."""

    node_affinity: Annotated[NodeAffinity | None, Field(description="To which nodes pods go.")] = None
    pod_affinity: Annotated[PodAffinity | None, Field(description="Pods to be near to.")] = None
    pod_anti_affinity: Annotated[PodAffinity | None, Field(description="Pods to keep away from.")] = None
