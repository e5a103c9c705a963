"""WorkloadKind as it is written: how objects of a kind are suspended, and where their pod templates are."""

from __future__ import annotations

import re
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field, model_validator
from pydantic.fields import FieldInfo

from controller.api.base import AGE, Column, Conditions, Count, Definition, Metadata, Model, Resource, Status, active
from controller.api.rules import Fault, Rule, SchemaKeys, fault, refuse, rules

_PATH_PATTERN = r"^(\.[A-Za-z_][A-Za-z0-9_-]*)+$"
_SEGMENT_PATTERN = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
_GROUP_PATTERN = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"

_ONE_NAME = Rule(
    "has(self.each) ? !has(self.name) : has(self.name) && !has(self.nameField)",
    "write name for one pod set, or each for a list or map of them, with nameField where it is a list",
)
_ONE_SIGN = Rule(
    "has(self.condition) ? !has(self.path) && !has(self.values) : has(self.path) && has(self.values)",
    "write condition, or path and values",
)
_NAMED_SO = Rule(
    "self.metadata.name == self.spec.resource + '.' + self.spec.group",
    "metadata.name must be <spec.resource>.<spec.group>",
    "'metadata.name must be ' + self.spec.resource + '.' + self.spec.group",
    field_path=".metadata.name",
)
_NOT_BUILT_IN = Rule(
    "self != 'batch'",
    "Penstock itself knows the Jobs of batch; a WorkloadKind is for kinds of other groups",
)


def _check_path(path: str) -> str:
    if not re.fullmatch(_PATH_PATTERN, path):
        raise fault("must be keys, each behind a dot, such as .spec.suspend")
    return path


_Path = Annotated[str, AfterValidator(_check_path), SchemaKeys(pattern=_PATH_PATTERN)]
"""Keys from an object, or from an entry of a list or map, downwards."""


def _at(description: str) -> FieldInfo:
    found: FieldInfo = Field(description=description, max_length=253)
    return found


def _check_set(written: PodSetPaths) -> PodSetPaths:
    if (written.each is None) == (not written.name) or (written.each is None and written.name_field is not None):
        refuse([Fault((), written.template, _ONE_NAME.message)])
    return written


class PodSetPaths(Model):
    """Where pod sets are described. Paths begin at the object, or with `each` at an entry."""

    name: Annotated[
        str | None,
        Field(
            description="The name of the pod set, where this describes one.",
            max_length=63,
            pattern=_SEGMENT_PATTERN,
        ),
    ] = None
    each: Annotated[
        _Path | None, _at("The list or map that has an entry for each pod set, such as .spec.workerGroupSpecs.")
    ] = None
    name_field: Annotated[
        _Path | None, _at("Of a list: where an entry has the name of its pod set. Of a map that is the key.")
    ] = None
    template: Annotated[_Path, _at("The pod template.")]
    counts: Annotated[
        tuple[Annotated[_Path, _at("Where a number is.")], ...],
        Field(
            description=(
                "Numbers whose product is how many pods there are, such as .replicas; one that is missing is 1."
            ),
            max_length=4,
        ),
    ] = ()


class EndSign(Model):
    """What shows that an object has ended."""

    condition: Annotated[
        str | None, Field(description="A type of .status.conditions whose status is True then.", max_length=316)
    ] = None
    path: Annotated[_Path | None, _at("Where one of the values is then.")] = None
    values: Annotated[
        tuple[Annotated[str, Field(max_length=253)], ...] | None,
        Field(description="The values that show it.", min_length=1, max_length=16),
    ] = None


def _check_sign(written: EndSign) -> EndSign:
    by_value = written.path is not None and written.values is not None
    is_half = (written.path is None) != (written.values is None)
    if is_half or (written.condition is not None) == by_value:
        refuse([Fault((), written.condition or written.path, _ONE_SIGN.message)])
    return written


def _check_group(group: str) -> str:
    if group == "batch":
        refuse([Fault((), group, _NOT_BUILT_IN.message)])
    return group


class Validation(Model):
    """What has to hold of an object that names a queue."""

    expression: Annotated[
        str, Field(description="CEL over object, as in a ValidatingAdmissionPolicy.", min_length=1, max_length=2048)
    ]
    message: Annotated[
        str, Field(description="What is said where it does not hold: what is wrong, and what to write.", max_length=512)
    ]


class WorkloadKindSpec(Model):
    """The kind, and the paths in its objects."""

    group: Annotated[
        str,
        Field(description="The API group of the kind.", min_length=1, max_length=190, pattern=_GROUP_PATTERN),
        AfterValidator(_check_group),
        SchemaKeys(**rules(_NOT_BUILT_IN)),
    ]
    version: Annotated[
        str,
        Field(
            description="The version of the group to which the paths apply.", max_length=63, pattern=_SEGMENT_PATTERN
        ),
    ]
    kind: Annotated[str, Field(description="The kind, in CamelCase.", max_length=63, pattern=r"^[A-Z][A-Za-z0-9]*$")]
    resource: Annotated[str, Field(description="Its plural, as in URLs.", max_length=63, pattern=_SEGMENT_PATTERN)]
    suspend: Annotated[
        _Path,
        _at("The field that keeps an object from having pods while it is true, such as .spec.suspend."),
    ]
    pod_sets: Annotated[
        tuple[
            Annotated[PodSetPaths, AfterValidator(_check_set), SchemaKeys(**rules(_ONE_NAME))],
            ...,
        ],
        Field(description="Where the pod sets are described.", min_length=1, max_length=16),
    ]
    finished: Annotated[
        tuple[Annotated[EndSign, AfterValidator(_check_sign), SchemaKeys(**rules(_ONE_SIGN))], ...],
        Field(description="What shows that an object has ended: one of these is enough.", max_length=16),
    ] = ()
    validations: Annotated[
        tuple[Validation, ...],
        Field(
            description=(
                "What has to hold of objects that name a queue, because their controller needs it to suspend them."
            ),
            max_length=16,
        ),
    ] = ()


class WorkloadKindStatus(Status):
    """The observed state of the kind."""

    objects: Annotated[Count, Field(description="Objects of the kind that are held as a whole or were admitted.")] = 0
    conditions: Conditions = ()


class WorkloadKind(Resource):
    """A kind of objects that Penstock holds as a whole: it suspends them, and admits all their pods by one patch."""

    definition: ClassVar[Definition] = Definition(
        kind="WorkloadKind",
        plural="workloadkinds",
        short_name="pwk",
        namespaced=False,
        is_label_value=False,
        rules=(_NAMED_SO,),
        columns=(
            Column("Kind", ".spec.kind", "string", "The kind that is held as a whole"),
            Column("Objects", ".status.objects", "integer", "Objects that are held as a whole or were admitted"),
            active("Whether the kind is watched"),
            AGE,
        ),
    )

    kind: Literal["WorkloadKind"] = "WorkloadKind"
    metadata: Metadata
    spec: WorkloadKindSpec
    status: WorkloadKindStatus = WorkloadKindStatus()

    @model_validator(mode="after")
    def _is_named_so(self) -> WorkloadKind:
        wanted = f"{self.spec.resource}.{self.spec.group}"
        if self.metadata.name != wanted:
            refuse([Fault(("metadata", "name"), self.metadata.name, f"must be {wanted}: <spec.resource>.<spec.group>")])
        return self
