"""SchedulingPolicy as it is written: what pods must, may and by default do say about where to run.

A field that is left out allows none of its kind, an empty one allows all. What it gives by default is
`scheduling_defaults`, how it speaks of many requirements at once `scheduling_forms` and `scheduling_tolerations`.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from controller.api.base import AGE, Column, Conditions, Count, Definition, Metadata, Model, Resource, Status, active
from controller.api.rules import SchemaKeys, refuse, rules
from controller.api.scheduling_default_forms import DEFAULT_FORM_RULES
from controller.api.scheduling_defaults import OWN_VALUES_RULES, Defaults, faults_of_defaults
from controller.api.scheduling_forms import AllowedAffinities, RequiredAffinities
from controller.api.scheduling_tolerations import TolerationForm
from controller.api.values import LabelChoices, RequiredLabelChoices, Subdomain

_NAMES_LIMIT = 64
_ATOMIC = SchemaKeys(x_kubernetes_list_type="atomic")

Names = Annotated[tuple[Subdomain, ...], Field(max_length=_NAMES_LIMIT), _ATOMIC]
RequiredNames = Annotated[tuple[Subdomain, ...], Field(min_length=1, max_length=_NAMES_LIMIT), _ATOMIC]


class Required(Model):
    """What pods must use. It is allowed too."""

    scheduler_names: Annotated[RequiredNames | None, Field(description="Schedulers, one of which must be named.")] = (
        None
    )
    priority_class_names: Annotated[
        RequiredNames | None, Field(description="PriorityClasses, one of which must be named.")
    ] = None
    runtime_class_names: Annotated[
        RequiredNames | None, Field(description="RuntimeClasses, one of which must be named.")
    ] = None
    node_selectors: Annotated[
        RequiredLabelChoices | None,
        Field(description="Keys that nodeSelector must have, each with one of these values."),
    ] = None
    affinities: Annotated[RequiredAffinities | None, Field(description="Affinities that must be given.")] = None


class Allowed(Model):
    """What pods may use besides."""

    scheduler_names: Annotated[
        Names | None, Field(description="Schedulers. Left out: only default-scheduler. Empty: all.")
    ] = None
    priority_class_names: Annotated[
        Names | None, Field(description="PriorityClasses. Left out: only the global default. Empty: all.")
    ] = None
    runtime_class_names: Annotated[
        Names | None,
        Field(
            description="RuntimeClasses. Left out: none, unless no policy says anything about classes, which then are "
            "all allowed. Empty: all."
        ),
    ] = None
    node_names: Annotated[
        Names | None, Field(description="Nodes that spec.nodeName may name. Left out: none. Empty: all.")
    ] = None
    node_selectors: Annotated[
        LabelChoices | None,
        Field(
            description="Keys that nodeSelector may have, each with these values, or with any where the list is "
            "empty. Left out: none. Empty, {}: all."
        ),
    ] = None
    tolerations: Annotated[
        tuple[TolerationForm, ...] | None,
        Field(description="Tolerations, each of one of these forms. Left out: none. Empty: all.", max_length=32),
        _ATOMIC,
    ] = None
    affinities: Annotated[
        AllowedAffinities | None, Field(description="Affinities. Left out: none. Empty, {}: all.")
    ] = None


class SchedulingPolicySpec(Model):
    """What pods of accounts that may use this policy must have, may have and get by default."""

    model_config = ConfigDict(json_schema_extra=rules(*OWN_VALUES_RULES, *DEFAULT_FORM_RULES))

    mode: Annotated[
        Literal["Enforce", "Warn", "Audit"],
        Field(
            description="Enforce (default): pods are given the defaults, or refused. Warn: whoever creates a pod "
            "gets a warning that says what would be done. Audit: only the audit log and the metrics "
            "report it."
        ),
    ] = "Enforce"
    required: Annotated[Required | None, Field(description="What pods must use.")] = None
    allowed: Annotated[Allowed | None, Field(description="What pods may use.")] = None
    default: Annotated[Defaults | None, Field(description="What pods get if they have nothing of the kind.")] = None

    @model_validator(mode="after")
    def _gives_what_it_allows(self) -> Self:
        refuse(faults_of_defaults(self.required or Required(), self.allowed or Allowed(), self.default or Defaults()))
        return self


class SchedulingPolicyStatus(Status):
    """The observed state of the policy."""

    pods: Annotated[
        Count, Field(description="How many existing pods, including ended ones, the policy has changed.")
    ] = 0
    conditions: Conditions = ()


class SchedulingPolicy(Resource):
    """What pods must have, may have and get by default for where they run; for accounts that may `use` the policy."""

    definition: ClassVar[Definition] = Definition(
        kind="SchedulingPolicy",
        plural="schedulingpolicies",
        short_name="schedpol",
        namespaced=False,
        columns=(
            Column(
                "Mode",
                ".spec.mode",
                "string",
                "Whether the policy changes and refuses pods, or only reports what it would do",
            ),
            Column("Pods", ".status.pods", "integer", "Pods that the policy has changed"),
            active("Whether the policy is valid; an invalid one has no effect"),
            AGE,
        ),
        is_label_value=False,
    )

    kind: Literal["SchedulingPolicy"] = "SchedulingPolicy"
    metadata: Metadata
    spec: SchedulingPolicySpec
    status: SchedulingPolicyStatus = SchedulingPolicyStatus()
