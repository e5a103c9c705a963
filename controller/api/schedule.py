"""Windows of a ClusterQueue's schedule as they are written: when they open, for how long, and what they override.

Which are open, and what comes next, belongs to `controller.core.calendar.windows`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Annotated, Literal, Protocol, Self

from pydantic import AfterValidator, ConfigDict, Field, StrictStr, model_validator

from controller.api.base import Model, Status, StopPolicy
from controller.api.limit import OverriddenLimit
from controller.api.rules import Fault, Rule, SchemaKeys, fault, rules, unique_names
from controller.api.time_zones import is_zone
from controller.api.values import ObjectName, QuotaAmount
from controller.core.calendar.cron import CronError, parse_cron
from controller.core.calendar.durations import DURATION_PATTERN, DurationError, parse_duration

BY_NAME = SchemaKeys(x_kubernetes_list_type="map", x_kubernetes_list_map_keys=["name"])
_LONGEST = 31 * 24 * 3600

_CRON_FORM = (
    'must be a cron of five fields (minute, hour, day of the month, month, day of the week), such as "0 20 * * mon-fri"'
)
_DURATION_FORM = 'must be a duration in hours, minutes and seconds, such as "8h", "90m" or "1h30m"'
_DURATION_RANGE = "must be more than 0s and at most 744h (31 days)"
_ZONE_FORM = 'must be an IANA time zone, such as "Europe/Berlin" or "UTC"'
NO_SUCH_FLAVOR = "must be a flavor that spec.flavors lists"
_NO_SUCH_RESOURCE = "must be a resource that spec.flavors lists for this flavor"
_WINDOW_NAMES = (Field(max_length=16), SchemaKeys(x_kubernetes_list_type="atomic"))
ONLY_WITH_PARENT = "goes only with spec.parent: without one there is nobody to borrow from or lend to"
_CHANGES_NOTHING = "must change something: give nominalQuota, borrowingLimit or lendingLimit"
_OVERRIDES_NOTHING = "must override something: give flavors, limits or stopPolicy"
DRAINS_NOTHING = "onClose Drain goes only with flavors, limits or stopPolicy None: nothing else is too much afterwards"


def _cron_pattern() -> str:
    """Shape and bounds of a cron for CEL; that a range ends after it begins, and that it ever comes, is not in it."""
    months, days = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec", "sun|mon|tue|wed|thu|fri|sat"
    numbers = (
        "[0-5]?[0-9]",
        "[01]?[0-9]|2[0-3]",
        "0?[1-9]|[12][0-9]|3[01]",
        f"0?[1-9]|1[0-2]|{months}",
        f"[0-7]|{days}",
    )
    items = (f"([*?]|({number})(-({number}))?)(/(0?[1-9]|[1-9][0-9]))?" for number in numbers)
    return "(?i)^" + " +".join(f"({item})(,({item}))*" for item in items) + "$"


CRON_PATTERN = _cron_pattern()


def _checked_cron(text: str) -> str:
    try:
        parse_cron(text)
    except CronError as error:
        raise fault(str(error)) from error
    if not re.fullmatch(CRON_PATTERN, text):
        raise fault(_CRON_FORM)
    return text


def _checked_duration(text: str) -> str:
    try:
        seconds = parse_duration(text)
    except DurationError as error:
        raise fault(_DURATION_FORM) from error
    if not 0 < seconds <= _LONGEST:
        raise fault(_DURATION_RANGE)
    return text


def _checked_zone(text: str) -> str:
    if not is_zone(text):
        raise fault(_ZONE_FORM)
    return text


_IS_DURATION = f"self != '' && self.matches('^{DURATION_PATTERN}$')"

CronText = Annotated[
    StrictStr,
    Field(max_length=128),
    AfterValidator(_checked_cron),
    SchemaKeys(**rules(Rule(f"self.matches('{CRON_PATTERN}')", _CRON_FORM))),
]
DurationText = Annotated[
    StrictStr,
    Field(max_length=24),
    AfterValidator(_checked_duration),
    SchemaKeys(
        **rules(
            Rule(_IS_DURATION, _DURATION_FORM),
            Rule(
                f"!({_IS_DURATION}) || (duration(self) > duration('0s') && duration(self) <= duration('744h'))",
                _DURATION_RANGE,
            ),
        ),
    ),
]
# CEL takes offsets such as +01:00 and the apiserver's own zone beside names; of an unknown name it says so itself.
ZoneName = Annotated[
    StrictStr,
    Field(max_length=64),
    AfterValidator(_checked_zone),
    SchemaKeys(
        **rules(
            Rule(
                "self.matches('^[A-Za-z]') && self != 'Local' && timestamp('2000-01-01T00:00:00Z').getHours(self) >= 0",
                _ZONE_FORM,
            )
        ),
    ),
]


class OverriddenQuota(Model):
    """The quota and limits of one resource while the window is open. What is left out stays as it is."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            Rule("has(self.nominalQuota) || has(self.borrowingLimit) || has(self.lendingLimit)", _CHANGES_NOTHING)
        )
    )

    # one of the queue's own, so its form needs no rule, which would cost too much in a list in a list in a list
    name: Annotated[
        StrictStr,
        Field(description="The resource; one that the queue lists for this flavor.", min_length=1, max_length=317),
    ]
    nominal_quota: Annotated[QuotaAmount | None, Field(description="Replaces the nominalQuota of the queue.")] = None
    borrowing_limit: Annotated[
        QuotaAmount | None,
        Field(description="Replaces the borrowingLimit, or sets one. Only with a parent."),
    ] = None
    lending_limit: Annotated[
        QuotaAmount | None,
        Field(description="Replaces the lendingLimit, or sets one. Only with a parent."),
    ] = None

    @model_validator(mode="after")
    def _changes_something(self) -> Self:
        if self.nominal_quota is None and self.borrowing_limit is None and self.lending_limit is None:
            raise fault(_CHANGES_NOTHING)
        return self


class OverriddenFlavor(Model):
    """Quotas of one flavor while the window is open. A resource that is not listed keeps its quota."""

    name: Annotated[ObjectName, Field(description="The flavor; one that the queue lists.")]
    resources: Annotated[
        tuple[OverriddenQuota, ...],
        Field(description="The quotas that change; at least one.", min_length=1, max_length=64),
        unique_names("resource"),
        BY_NAME,
    ]


class ScheduleWindow(Model):
    """A recurring time, and what it overrides while it lasts."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            Rule(
                "(has(self.flavors) && size(self.flavors) > 0) || (has(self.limits) && size(self.limits) > 0) || "
                "has(self.stopPolicy)",
                _OVERRIDES_NOTHING,
            ),
            Rule(
                "!has(self.onClose) || self.onClose != 'Drain' || (has(self.flavors) && size(self.flavors) > 0) || "
                "(has(self.limits) && size(self.limits) > 0) || (has(self.stopPolicy) && self.stopPolicy == 'None')",
                DRAINS_NOTHING,
            ),
        )
    )

    name: Annotated[ObjectName, Field(description="The window's name, for status and messages.")]
    start: Annotated[
        CronText,
        Field(
            description="When the window opens, in timeZone: a cron expression of five fields, as of a CronJob. "
            "If clocks skip this time, the window opens right after the gap; if they repeat it, the "
            "window opens only the first time."
        ),
    ]
    duration: Annotated[
        DurationText,
        Field(
            description="How long the window stays open, in elapsed time, whatever clocks show: such as 8h, 90m "
            "or 1h30m, at most 744h. A start while it is open prolongs it."
        ),
    ]
    time_zone: Annotated[ZoneName, Field(description="The IANA time zone of start. Default: UTC.")] = "UTC"
    flavors: Annotated[
        tuple[OverriddenFlavor, ...],
        Field(description="Quotas while the window is open; what is not listed stays as it is.", max_length=16),
        unique_names("flavor"),
        BY_NAME,
    ] = ()
    limits: Annotated[
        tuple[OverriddenLimit, ...],
        Field(description="Limits while the window is open; what is not listed stays as it is.", max_length=16),
        unique_names("resource"),
        BY_NAME,
    ] = ()
    stop_policy: Annotated[
        StopPolicy | None,
        Field(description="Replaces the stopPolicy of the queue while the window is open. Left out: no change."),
    ] = None
    on_close: Annotated[
        Literal["Keep", "Drain"],
        Field(
            description="Keep (default): when the window closes, pods that were admitted in it run to their end. "
            "Drain: while it is closed, pods beyond the queue's quotas and limits are evicted, as "
            "with reclaimOverQuota, and a Hold that the window lifts acts as HoldAndDrain."
        ),
    ] = "Keep"

    @model_validator(mode="after")
    def _overrides_something(self) -> Self:
        if not self.flavors and not self.limits and self.stop_policy is None:
            raise fault(_OVERRIDES_NOTHING)
        if self.on_close == "Drain" and not self.flavors and not self.limits and self.stop_policy != "None":
            raise fault(DRAINS_NOTHING)
        return self


class ScheduleStatus(Status):
    """Which windows are open, and what comes next."""

    open: Annotated[
        tuple[ObjectName, ...], Field(description="Windows that are open, in the order of the list."), *_WINDOW_NAMES
    ] = ()
    next_change: Annotated[
        StrictStr | None,
        Field(description="When the next window opens or closes. Absent if no change is due."),
        SchemaKeys(format="date-time"),
    ] = None
    opens: Annotated[tuple[ObjectName, ...], Field(description="Windows that open at nextChange."), *_WINDOW_NAMES] = ()
    closes: Annotated[
        tuple[ObjectName, ...], Field(description="Windows that close at nextChange."), *_WINDOW_NAMES
    ] = ()


def faults_of_schedule(windows: Iterable[ScheduleWindow], quotas: Mapping[str, Collection[str]]) -> list[Fault]:
    """Say what windows override that the queue does not have; `quotas` are its resources by flavor."""
    faults = []
    for number, window in enumerate(windows):
        for index, flavor in enumerate(window.flavors):
            where = ("schedule", number, "flavors", index)
            if flavor.name not in quotas:
                faults.append(Fault((*where, "name"), flavor.name, NO_SUCH_FLAVOR))
                continue
            faults += [
                Fault((*where, "resources", entry, "name"), resource.name, _NO_SUCH_RESOURCE)
                for entry, resource in enumerate(flavor.resources)
                if resource.name not in quotas[flavor.name]
            ]
    return faults


class TreeLimits(Protocol):
    """What both the queue and its windows say of a resource in one flavor."""

    @property
    def borrowing_limit(self) -> str | int | None:
        """The most beyond nominalQuota."""

    @property
    def lending_limit(self) -> str | int | None:
        """The most that others may have."""


def faults_without_parent(flavors: Iterable[Iterable[TreeLimits]], at: tuple[str | int, ...]) -> list[Fault]:
    """Say which limits of the tree the resources of these flavors have, of a queue that is in none."""
    return [
        Fault((*at, "flavors", number, "resources", index, field), value, ONLY_WITH_PARENT)
        for number, resources in enumerate(flavors)
        for index, one in enumerate(resources)
        for field, value in (("borrowingLimit", one.borrowing_limit), ("lendingLimit", one.lending_limit))
        if value is not None
    ]
