"""A suite of policy tests as people write it: models, and where they break the rules. Reads no file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import Field, PlainValidator, StrictBool, ValidationError, field_validator, model_validator
from pydantic_core import ErrorDetails, PydanticCustomError

from controller.api.base import Model
from controller.api.parse import causes, fault_line
from controller.cli.policy.surroundings import Settings
from controller.core.kubernetes.names import is_dns_subdomain
from controller.core.scheduling_policies.policy import MergeOption
from controller.kube.fields import member

Text = Annotated[str, Field(min_length=1)]


def _pod(value: Any) -> str | dict[str, Any]:
    if isinstance(value, dict) or (isinstance(value, str) and value):
        return value
    raise PydanticCustomError("pod_form", "must be a pod, or the path of a file with one, from this file's folder")


class Expectation(Model):
    """What must become of a pod. What is left out is not looked at."""

    result: Literal["allowed", "changed", "refused"]
    """allowed: created as it is; changed: created with changes; refused: not created."""
    message: Text | None = None
    """A part of the refusal."""
    pod: dict[str, Any] | None = None
    """A part of the pod that must be there afterwards; lists as a whole."""
    contains: dict[str, Any] | None = None
    """The same, with lists that may hold more, in any order."""
    absent: tuple[Text, ...] = ()
    """Paths of the pod at which nothing may be afterwards."""
    warnings: tuple[Text, ...] | None = None
    """A part of each warning, and of no other: none with an empty list."""
    policies: tuple[Text, ...] | None = None
    """Those that changed the pod, in order, as its annotation names them."""

    @model_validator(mode="after")
    def _fits_the_result(self) -> Expectation:
        if self.result == "refused":
            given = [name for name in ("pod", "contains", "warnings", "policies") if getattr(self, name) is not None]
            given += ["absent"] if self.absent else []
            if given:
                raise PydanticCustomError(
                    "fits", "must not have {names}: a pod that is refused is not there", {"names": ", ".join(given)}
                )
        elif self.message is not None:
            raise PydanticCustomError("fits", "must not have message: only a refusal has one; see warnings")
        return self


class Case(Model):
    """One pod, who creates it where, and what must become of it."""

    name: Text
    pod: Annotated[Any, PlainValidator(_pod)]
    namespace: Text | None = None
    user: str | None = None
    groups: tuple[Text, ...] | None = None
    expect: Expectation


class Options(Model):
    """The webhook's options that decide over pods."""

    runtime_classes: StrictBool = False
    default_runtime_class: str | None = None
    scheduling_policies: StrictBool | None = None
    """None: where there is one among the objects."""
    scheduling_policy_merge: MergeOption = MergeOption.DEEP_MERGE

    @field_validator("default_runtime_class")
    @classmethod
    def _is_a_name(cls, value: str | None) -> str | None:
        if value is not None and not is_dns_subdomain(value):
            raise PydanticCustomError("name", "cannot be the name of a RuntimeClass")
        return value

    @property
    def settings(self) -> Settings:
        """As the rest of the tool has them."""
        return Settings(
            runtime_classes=self.runtime_classes,
            default_runtime_class=self.default_runtime_class,
            scheduling_policies=self.scheduling_policies,
            scheduling_policy_merge=self.scheduling_policy_merge,
        )


class Suite(Model):
    """Cases about the same objects."""

    name: Text
    objects: Annotated[tuple[Text, ...], Field(min_length=1)]
    settings: Options = Options()
    cases: Annotated[tuple[Case, ...], Field(min_length=1)]

    @field_validator("cases")
    @classmethod
    def _have_names_of_their_own(cls, cases: tuple[Case, ...]) -> tuple[Case, ...]:
        names = [case.name for case in cases]
        twice = next((name for number, name in enumerate(names) if name in names[:number]), None)
        if twice is not None:
            raise PydanticCustomError(
                "twice", "must have names of their own; {name} is there twice", {"name": repr(twice)}
            )
        return cases


def parse_suite(document: object) -> Suite | list[str]:
    """Return the suite, or a line for each fault: path, value, what would be legal."""
    try:
        return Suite.model_validate(document, by_alias=True, by_name=False)
    except ValidationError as error:
        return [_line(details) for details in causes(error.errors(include_url=False))]


def _line(details: ErrorDetails) -> str:
    return fault_line(_path(details["loc"]), details)


def _path(where: Sequence[str | int]) -> str:
    path = ""
    for step in where:
        path = f"{path}[{step}]" if isinstance(step, int) else member(path, step)
    return path
