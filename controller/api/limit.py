"""The most of a resource over all flavors as a ClusterQueue and the windows of its schedule write it."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import ConfigDict, Field, model_validator

from controller.api.base import Model
from controller.api.rules import Rule, fault, rules
from controller.api.values import QuotaAmount, ResourceName

_LIMITS_NOTHING = "must limit something: give max or perUser"


class Limit(Model):
    """The most of one resource, whichever flavor it is of."""

    name: Annotated[ResourceName, Field(description="The resource, such as pods.")]
    max: Annotated[
        QuotaAmount,
        Field(
            description="The most that admitted pods of the queue, and of all queues below it, may ask for together: "
            'an amount, or a share, such as "40%", of what the flavors that these queues list have of it together.'
        ),
    ]
    per_user: Annotated[
        QuotaAmount | None,
        Field(
            description="The most that those of one user may ask for together. The user is who created the pod's "
            "controlling owner, or the pod itself, as admission saw it; pods of which nobody knows that share one "
            "limit. Left out: no limit."
        ),
    ] = None


class OverriddenLimit(Model):
    """The limits on one resource while the window is open. What is left out stays as it is."""

    model_config = ConfigDict(json_schema_extra=rules(Rule("has(self.max) || has(self.perUser)", _LIMITS_NOTHING)))

    name: Annotated[ResourceName, Field(description="The resource, such as pods.")]
    max: Annotated[QuotaAmount | None, Field(description="What stands in the place of the queue's max, or is one.")] = (
        None
    )
    per_user: Annotated[
        QuotaAmount | None, Field(description="What stands in the place of its perUser, or is one.")
    ] = None

    @model_validator(mode="after")
    def _limits_something(self) -> Self:
        if self.max is None and self.per_user is None:
            raise fault(_LIMITS_NOTHING)
        return self
