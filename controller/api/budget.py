"""Budgets of a ClusterQueue as they are written: how much in which time, and what happens at the end.

What a pod uses of one belongs to `controller.core.budgets.budget`.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import ConfigDict, Field, StrictBool, StrictStr, model_validator

from controller.api.base import Model, Status
from controller.api.rules import Fault, Rule, SchemaKeys, refuse, rules
from controller.api.schedule import DurationText, ZoneName
from controller.api.values import ObjectName, Quantity, ResourceName

_ONE_OF_TWO = "must be given, with resource, or cost without them"
_HOURS_OF = "must be given with resource, and only with it"
_WINDOW = "must be given when period is Sliding, and only then"
_ZONE = "must be left out when period is Sliding: its window is time that passes, whatever clocks show"


class Budget(Model):
    """An amount of hours of a resource, or of money, for a period."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            Rule("has(self.resource) == has(self.hours)", f"hours {_HOURS_OF}", field_path=".hours"),
            Rule("has(self.hours) != has(self.cost)", f"hours {_ONE_OF_TWO}", field_path=".hours"),
            Rule("has(self.window) == (self.period == 'Sliding')", f"window {_WINDOW}", field_path=".window"),
            Rule("!has(self.timeZone) || self.period != 'Sliding'", f"timeZone {_ZONE}", field_path=".timeZone"),
        )
    )

    name: Annotated[ObjectName, Field(description="The budget's name, for status and messages.")]
    resource: Annotated[
        ResourceName | None,
        Field(description="The resource whose hours are counted, such as cpu or nvidia.com/gpu. Together with hours."),
    ] = None
    hours: Annotated[
        Quantity | None,
        Field(
            description="How much of the resource for how many hours: 1000 of cpu are 1000 core-hours, 64Gi of memory "
            "are 64 GiB for an hour."
        ),
    ] = None
    cost: Annotated[
        Quantity | None,
        Field(
            description="How much money, by the prices of the flavors (spec.price of a ResourceFlavor) and in their "
            "currency. Instead of resource and hours."
        ),
    ] = None
    period: Annotated[
        Literal["Day", "Week", "Month", "Sliding"],
        Field(
            description="The time in which it may be used: a Day, a Week from Monday on or a Month in the "
            "calendar of timeZone, after which the whole budget is available again; or Sliding, the "
            "window that ends now."
        ),
    ]
    window: Annotated[
        DurationText | None,
        Field(description="With period Sliding: how long the window is, such as 24h, at most 744h."),
    ] = None
    time_zone: Annotated[
        ZoneName | None,
        Field(description="The IANA time zone of the calendar. Left out: UTC. Not with period Sliding."),
    ] = None
    at_end: Annotated[
        Literal["Hold", "LowerPriority", "Warn"],
        Field(
            description="What happens once it is used up. Hold (default): nothing more is admitted until there is"
            " budget again; running pods continue. LowerPriority: the workloads go after all others. "
            "Warn: a condition and an Event report it."
        ),
    ] = "Hold"

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        wrong = (
            ("hours", self.hours, _HOURS_OF, (self.resource is None) != (self.hours is None)),
            ("hours", self.hours, _ONE_OF_TWO, (self.hours is None) == (self.cost is None)),
            ("window", self.window, _WINDOW, (self.window is not None) != (self.period == "Sliding")),
            ("timeZone", self.time_zone, _ZONE, self.time_zone is not None and self.period == "Sliding"),
        )
        refuse([Fault((field,), value, message) for field, value, message, is_wrong in wrong if is_wrong])
        return self


class CountedSlice(Status):
    """What was used in one part of the period."""

    since: Annotated[StrictStr, Field(description="When the part began."), SchemaKeys(format="date-time")]
    amount: Annotated[
        StrictStr, Field(description="What was used, exactly: an integer in a unit of Penstock's own.", max_length=64)
    ]


class BudgetStatus(Status):
    """The use of a budget, and when it will be used up."""

    name: Annotated[ObjectName, Field(description="The budget.")]
    used: Annotated[
        StrictStr, Field(description="What was used in the period: hours or money, rounded down.", max_length=64)
    ]
    amount: Annotated[StrictStr, Field(description="The whole budget of the period.", max_length=64)]
    exhausted: Annotated[StrictBool, Field(description="Whether nothing is left.")] = False
    period_start: Annotated[StrictStr, Field(description="When the period began."), SchemaKeys(format="date-time")]
    period_end: Annotated[
        StrictStr | None,
        Field(description="When the period ends, and the next begins with nothing used. Absent with Sliding."),
        SchemaKeys(format="date-time"),
    ] = None
    runs_out_at: Annotated[
        StrictStr | None,
        Field(
            description="When the budget will be used up, if all running pods continue. Absent if not before periodEnd."
        ),
        SchemaKeys(format="date-time"),
    ] = None
    counts: Annotated[
        StrictStr,
        Field(description="What the sums below count; if that has changed, the sums are not used.", max_length=512),
    ]
    counted_until: Annotated[
        StrictStr,
        Field(description="The time up to which the sums below are complete."),
        SchemaKeys(format="date-time"),
    ]
    slices: Annotated[
        tuple[CountedSlice, ...],
        Field(description="The sums from which a controller that starts continues, the oldest first.", max_length=64),
        SchemaKeys(x_kubernetes_list_type="atomic"),
    ] = ()
