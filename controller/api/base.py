"""What every model of our objects shares: strictness, metadata, conditions, and how a kind is called and shown.

Nothing here knows a kind. Rules and faults belong to `rules`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StrictInt
from pydantic.alias_generators import to_camel

from controller.api.rules import Fault, Rule, SchemaKeys, refuse
from controller.core.keys import GROUP

NAME_LIMIT = 63
NAME_LIMIT_MESSAGE = "must be at most 63 characters, because it is written on pods as a label value"

StopPolicy = Literal["None", "Hold", "HoldAndDrain"]


class Model(BaseModel):
    """A part of a spec: frozen, camelCase on the wire, and without room for a field that nobody reads."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, alias_generator=to_camel, validate_by_name=True, validate_by_alias=True
    )


class Status(Model):
    """What Penstock itself reports. A field of a newer version is no fault: it must not stop an older controller."""

    model_config = ConfigDict(extra="ignore")


class Metadata(Model):
    """The part of metav1.ObjectMeta that Penstock reads; the apiserver owns and checks the whole."""

    model_config = ConfigDict(extra="ignore")

    name: str
    namespace: str = ""
    uid: str = ""
    generation: StrictInt = 0
    resource_version: str = ""
    annotations: dict[str, str] = {}


class Condition(Status):
    """One observation of the state of this object, shaped as metav1.Condition."""

    type: Annotated[
        str, Field(description="What is observed, in CamelCase, such as `Active`.", min_length=1, max_length=316)
    ]
    status: Annotated[
        Literal["True", "False", "Unknown"], Field(description="Whether it holds: True, False or Unknown.")
    ]
    observed_generation: Annotated[
        StrictInt,
        Field(description="The metadata.generation of the spec that was checked.", ge=0),
        SchemaKeys(format="int64"),
    ] = 0
    last_transition_time: Annotated[str, Field(description="When status changed last."), SchemaKeys(format="date-time")]
    reason: Annotated[
        str,
        Field(description="Why, as one word in CamelCase that programs can match.", min_length=1, max_length=1024),
        SchemaKeys(pattern=r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"),
    ]
    message: Annotated[str, Field(description="Why, and what to do, for people.", max_length=32768)]


Conditions = Annotated[
    tuple[Condition, ...],
    Field(description="The latest observations, one for each type.", max_length=16),
    SchemaKeys(x_kubernetes_list_type="map", x_kubernetes_list_map_keys=["type"]),
]
Count = Annotated[StrictInt, Field(ge=0), SchemaKeys(format="int32")]


@dataclass(frozen=True, slots=True)
class Column:
    """A column of `kubectl get`; those of priority 1 show with `-o wide` only."""

    name: str
    path: str
    type: str
    description: str
    priority: int = 0


AGE = Column("Age", ".metadata.creationTimestamp", "date", "How long ago the object was created")


def active(description: str) -> Column:
    """Return the column of the condition `Active`, Kueue's word for: usable as written."""
    return Column("Active", '.status.conditions[?(@.type=="Active")].status', "string", description)


@dataclass(frozen=True, slots=True)
class Definition:
    """How a kind is called and shown."""

    kind: str
    plural: str
    short_name: str
    namespaced: bool
    columns: tuple[Column, ...]
    is_label_value: bool = True
    """Whether pods carry the name as the value of a label, which bounds its length."""
    rules: tuple[Rule, ...] = ()
    """Of the object as a whole."""

    @property
    def resource(self) -> str:
        """The name that users see, such as `clusterqueues.penstock.dev`."""
        return f"{self.plural}.{GROUP}"


def _check_name(metadata: Metadata) -> Metadata:
    if len(metadata.name) > NAME_LIMIT:
        refuse([Fault(("name",), metadata.name, NAME_LIMIT_MESSAGE)])
    return metadata


class Resource(Model):
    """A whole object: metadata, spec and status, with the `Definition` of its kind."""

    definition: ClassVar[Definition]

    api_version: Literal["penstock.dev/v1alpha1"] = "penstock.dev/v1alpha1"
    metadata: Annotated[Metadata, AfterValidator(_check_name)]
