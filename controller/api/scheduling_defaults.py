"""What a SchedulingPolicy gives by default, and that this is among what the policy itself requires or allows.

Of tolerations and affinities that is `scheduling_default_forms`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Protocol, Self

from pydantic import ConfigDict, Field, model_validator

from controller.api.base import Model
from controller.api.placement import Affinity
from controller.api.rules import Fault, Rule, SchemaKeys, refuse, rules
from controller.api.scheduling_tolerations import DefaultToleration
from controller.api.values import GivenLabels, Subdomain
from controller.core.kubernetes.directives import PREFERRED, REQUIRED

_ATOMIC = SchemaKeys(x_kubernetes_list_type="atomic")

_WITHOUT_AFFINITY = "must say something: a required or preferred term of some kind"


def _says_something_cel() -> str:
    """Hold when an affinity has a term: nodeAffinity's required part has one wherever it is given."""

    def has_terms(kind: str, part: str) -> str:
        return f"(has(self.{kind}.{part}) && size(self.{kind}.{part}) > 0)"

    node = f"(has(self.nodeAffinity) && (has(self.nodeAffinity.{REQUIRED}) || {has_terms('nodeAffinity', PREFERRED)}))"
    pods = [
        f"(has(self.{kind}) && ({has_terms(kind, REQUIRED)} || {has_terms(kind, PREFERRED)}))"
        for kind in ("podAffinity", "podAntiAffinity")
    ]
    return " || ".join([node, *pods])


class DefaultAffinity(Affinity):
    """core/v1 Affinity that is given kind by kind."""

    model_config = ConfigDict(json_schema_extra=rules(Rule(_says_something_cel(), _WITHOUT_AFFINITY)))

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        kinds = (self.node_affinity, self.pod_affinity, self.pod_anti_affinity)
        if not any(
            kind.required_during_scheduling_ignored_during_execution
            or kind.preferred_during_scheduling_ignored_during_execution
            for kind in kinds
            if kind is not None
        ):
            refuse([Fault((), self.model_dump(by_alias=True, exclude_defaults=True), _WITHOUT_AFFINITY)])
        return self


class Defaults(Model):
    """What pods get if they have nothing of the kind. It is allowed too."""

    scheduler_name: Annotated[
        Subdomain | None, Field(description="For pods that name no scheduler, or default-scheduler.")
    ] = None
    priority_class_name: Annotated[
        Subdomain | None, Field(description="For pods that name no PriorityClass, or the global default.")
    ] = None
    runtime_class_name: Annotated[Subdomain | None, Field(description="For pods that name no RuntimeClass.")] = None
    node_selector: Annotated[
        GivenLabels | None, Field(description="Each for pods whose nodeSelector does not have the key.")
    ] = None
    tolerations: Annotated[
        tuple[DefaultToleration, ...] | None,
        Field(description="For pods that have none of their own.", min_length=1, max_length=16),
        _ATOMIC,
    ] = None
    affinity: Annotated[
        DefaultAffinity | None,
        Field(description="nodeAffinity, podAffinity and podAntiAffinity, each for pods that have none of the kind."),
    ] = None


# -- a default has to be among what its own policy requires or allows ----------------------------------------------

_OWN_NAMES = "must be one of required.{0}s, or where these are not given of allowed.{0}s"
_OWN_LABELS = (
    "must be one of the values of its key in required.nodeSelectors, or where there are none in allowed.nodeSelectors"
)
_NAMED = ("schedulerName", "priorityClassName", "runtimeClassName")


def _name_rule(name: str) -> Rule:
    given, required, allowed = f"self.default.{name}", f"self.required.{name}s", f"self.allowed.{name}s"
    message = _OWN_NAMES.format(name)
    return Rule(
        f"!has(self.default) || !has({given}) || (has(self.required) && has({required}) ? {given} in {required}"
        f" : !has(self.allowed) || !has({allowed}) || size({allowed}) == 0 || {given} in {allowed})",
        f"{name} {message}",
        f"'\"' + {given} + '\": {name} {message}'",
        field_path=f".default.{name}",
    )


def _labels_rule() -> Rule:
    given, required, allowed = "self.default.nodeSelector", "self.required.nodeSelectors", "self.allowed.nodeSelectors"
    has_required, has_allowed = f"(has(self.required) && has({required}))", f"(has(self.allowed) && has({allowed}))"
    is_own = (
        f"({has_required} && key in {required} ? {given}[key] in {required}[key]"
        f" : !{has_allowed} ? !{has_required} : size({allowed}) == 0"
        f" || (key in {allowed} && (size({allowed}[key]) == 0 || {given}[key] in {allowed}[key])))"
    )
    first = f"{given}.filter(key, !{is_own})[0]"
    return Rule(
        f"!has(self.default) || !has({given}) || {given}.all(key, {is_own})",
        f"each value {_OWN_LABELS}",
        f"'\"' + {first} + '\": the value {_OWN_LABELS}'",
        field_path=".default.nodeSelector",
    )


OWN_VALUES_RULES = (*map(_name_rule, _NAMED), _labels_rule())
"""Of a spec, which has all three sections."""


class _Section(Protocol):
    """What `required` and `allowed` have in common."""

    @property
    def scheduler_names(self) -> tuple[str, ...] | None: ...
    @property
    def priority_class_names(self) -> tuple[str, ...] | None: ...
    @property
    def runtime_class_names(self) -> tuple[str, ...] | None: ...
    @property
    def node_selectors(self) -> Mapping[str, tuple[str, ...]] | None: ...


def faults_of_defaults(required: _Section, allowed: _Section, default: Defaults) -> list[Fault]:
    """Say what OWN_VALUES_RULES say."""
    names = (
        (default.scheduler_name, required.scheduler_names, allowed.scheduler_names),
        (default.priority_class_name, required.priority_class_names, allowed.priority_class_names),
        (default.runtime_class_name, required.runtime_class_names, allowed.runtime_class_names),
    )
    faults = [
        Fault(("default", field), name, _OWN_NAMES.format(field))
        for field, (name, must, may) in zip(_NAMED, names, strict=True)
        if name is not None and not (name in must if must is not None else not may or name in may)
    ]
    faults += [
        Fault(("default", "nodeSelector", key), value, _OWN_LABELS)
        for key, value in (default.node_selector or {}).items()
        if not _is_own_label(required.node_selectors, allowed.node_selectors, key, value)
    ]
    return faults


def _is_own_label(
    required: Mapping[str, tuple[str, ...]] | None,
    allowed: Mapping[str, tuple[str, ...]] | None,
    key: str,
    value: str,
) -> bool:
    if required is not None and key in required:
        return value in required[key]
    if allowed is None:
        return required is None
    return not allowed or (key in allowed and (not allowed[key] or value in allowed[key]))
