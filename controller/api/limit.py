"""The most of a resource over all flavors as a ClusterQueue and the windows of its schedule write it."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import ConfigDict, Field, model_validator

from controller.api.base import Model
from controller.api.rules import Rule, fault, rules
from controller.api.values import QuotaAmount, ResourceName

_LIMITS_NOTHING = "must limit something: give max or perUser"


class Limit(Model):
    """The limit on one resource, over all flavors."""

    name: Annotated[ResourceName, Field(description="The resource, such as pods.")]
    max: Annotated[
        QuotaAmount,
        Field(
            description="The most that admitted pods of the queue, and of all queues below it, may request together: "
            'an amount, or a share, such as "40%", of the total of the flavors that these queues list.'
        ),
    ]
    per_user: Annotated[
        QuotaAmount | None,
        Field(
            description="The most that pods of one user may request together. The user is who created the pod's "
            "controlling owner, or the pod itself, as admission recorded it; pods without a record "
            "share one limit. Left out: no limit."
        ),
    ] = None


class OverriddenLimit(Model):
    """The limits on one resource while the window is open. What is left out stays as it is."""

    model_config = ConfigDict(json_schema_extra=rules(Rule("has(self.max) || has(self.perUser)", _LIMITS_NOTHING)))

    name: Annotated[ResourceName, Field(description="The resource, such as pods.")]
    max: Annotated[QuotaAmount | None, Field(description="Replaces max of the queue, or sets it.")] = None
    per_user: Annotated[QuotaAmount | None, Field(description="Replaces perUser of the queue, or sets it.")] = None

    @model_validator(mode="after")
    def _limits_something(self) -> Self:
        if self.max is None and self.per_user is None:
            raise fault(_LIMITS_NOTHING)
        return self
