"""The file that says who is told what: receivers with their URLs, and routes from queues and namespaces to them.

Whoever can write it decides where the controller sends requests to, so it is the platform team's, and mounted from a
Secret: URLs and headers hold credentials. No text of a fault repeats them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Final, Literal, Self

from pydantic import AfterValidator, Field, SecretStr, StrictInt, StrictStr, ValidationError, model_validator
from pydantic_core import ErrorDetails
from yarl import URL

from controller.api.base import Model
from controller.api.parse import causes, fault_line
from controller.api.rules import Fault, fault, refuse, unique_names
from controller.api.values import ObjectName
from controller.core.kubernetes.names import is_dns_label
from controller.kube.manifests import ManifestError, form, parse, read_text
from controller.notifications.formats import CLOUD_EVENTS
from controller.notifications.notices import Kind, Notice

_HEADER_NAME: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
_HEADER_VALUE: Final = re.compile(r"[\t\x20-\x7e]{0,8192}")
_OWN_HEADERS: Final = ("content-type", "content-length", "transfer-encoding", "connection", "user-agent")
_SHOWN: Final = ("name", "format")
"""Fields of a receiver whose value may stand in a fault."""
_HIDDEN: Final = "(not shown)"


class SettingsError(Exception):
    """The file cannot be used. The text is one line a fault: file, path, value, what would be legal."""


def _check_url(url: SecretStr) -> SecretStr:
    text = url.get_secret_value()
    try:
        parts = URL(text)
        is_usable = parts.scheme in ("http", "https") and bool(parts.host) and parts.port is not None
    except ValueError:
        raise fault("must be a URL such as https://hooks.example.com/penstock") from None
    if not is_usable or re.search(r"\s", text):
        raise fault("must be a URL with http or https and a host, such as https://hooks.example.com/penstock")
    if parts.user is not None or parts.password is not None:
        raise fault("must not have a user or password; write them into headers, as Authorization")
    if parts.fragment:
        raise fault("must not have a part after #, which is never sent")
    return url


def _check_headers(headers: Mapping[str, SecretStr]) -> Mapping[str, SecretStr]:
    names = [name.lower() for name in headers]
    found = [(name, _header_fault(name, value, names[:index])) for index, (name, value) in enumerate(headers.items())]
    refuse([Fault((name,), _HIDDEN, message) for name, message in found if message is not None])
    return headers


def _header_fault(name: str, value: SecretStr, before: Sequence[str]) -> str | None:
    if _HEADER_NAME.fullmatch(name) is None:
        return "the name must be that of an HTTP header, such as Authorization"
    if name.lower() in _OWN_HEADERS:
        return "is set by Penstock itself; leave it out"
    if name.lower() in before:
        return "stands here twice; names of headers do not differ by case"
    if _HEADER_VALUE.fullmatch(value.get_secret_value()) is None:
        return "must be at most 8192 visible ASCII characters, spaces and tabs"
    return None


def _check_namespace(name: str) -> str:
    if not is_dns_label(name):
        raise fault("must be the name of a namespace")
    return name


def _check_local_queue(name: str) -> str:
    namespace, slash, queue = name.partition("/")
    if not (slash and is_dns_label(namespace) and queue and "/" not in queue):
        raise fault("must be a LocalQueue as NAMESPACE/NAME, such as team-a/main")
    return name


class Receiver(Model):
    """Who is told: where requests go, and what they look like."""

    name: ObjectName
    format: Literal["CloudEvents", "Slack"]
    url: Annotated[SecretStr, AfterValidator(_check_url)]
    headers: Annotated[dict[str, SecretStr], AfterValidator(_check_headers), Field(default_factory=dict)]

    @property
    def plain_headers(self) -> dict[str, str]:
        """The headers as they are sent."""
        return {name: value.get_secret_value() for name, value in self.headers.items()}

    @property
    def takes_repeats(self) -> bool:
        """Whether it can drop what it has already, by the id; people in a chat would read it twice."""
        return self.format == CLOUD_EVENTS


class Route(Model):
    """What is told to some receivers: events, of some namespaces, LocalQueues and ClusterQueues, or of all."""

    receivers: Annotated[tuple[ObjectName, ...], Field(min_length=1)]
    events: Annotated[tuple[Literal["Admitted", "Late", "Evicted", "BudgetUsed"], ...], Field(min_length=1)]
    namespaces: Annotated[
        tuple[Annotated[StrictStr, AfterValidator(_check_namespace)], ...] | None, Field(min_length=1)
    ] = None
    local_queues: Annotated[
        tuple[Annotated[StrictStr, AfterValidator(_check_local_queue)], ...] | None, Field(min_length=1)
    ] = None
    cluster_queues: Annotated[tuple[ObjectName, ...] | None, Field(min_length=1)] = None
    budget_percents: Annotated[tuple[Annotated[StrictInt, Field(ge=1, le=1000)], ...] | None, Field(min_length=1)] = (
        None
    )

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if (self.budget_percents is None) == (Kind.BUDGET_USED in self.events):
            value = None if self.budget_percents is None else list(self.budget_percents)
            message = "must be given when events has BudgetUsed, and only then"
            refuse([Fault(("budgetPercents",), value, message)])
        return self

    def takes(self, notice: Notice) -> bool:
        """Whether a notice goes this way."""
        if notice.kind not in self.events:
            return False
        if notice.kind is Kind.BUDGET_USED and notice.percent not in (self.budget_percents or ()):
            return False
        if self.cluster_queues is not None and notice.cluster_queue not in self.cluster_queues:
            return False
        return any(self._has(*one) for one in notice.local_queues) if self._is_narrow else True

    @property
    def _is_narrow(self) -> bool:
        return self.namespaces is not None or self.local_queues is not None

    def _has(self, namespace: str, name: str) -> bool:
        if self.namespaces is not None and namespace not in self.namespaces:
            return False
        return self.local_queues is None or f"{namespace}/{name}" in self.local_queues


class Settings(Model):
    """The whole file. `cluster` tells clusters apart that have the same receivers."""

    cluster: ObjectName | None = None
    receivers: Annotated[tuple[Receiver, ...], Field(min_length=1), unique_names("receiver")]
    routes: Annotated[tuple[Route, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _leads_somewhere(self) -> Self:
        names = {one.name for one in self.receivers}
        used = {name for route in self.routes for name in route.receivers}
        unknown = [
            Fault(("routes", number, "receivers", index), name, "is no receiver of this file")
            for number, route in enumerate(self.routes)
            for index, name in enumerate(route.receivers)
            if name not in names
        ]
        unused = [
            Fault(("receivers", number, "name"), one.name, "no route leads there; add one, or remove the receiver")
            for number, one in enumerate(self.receivers)
            if one.name not in used
        ]
        refuse([*unknown, *unused])
        return self

    def wants(self, kind: Kind) -> bool:
        """Whether anybody is told of such an event."""
        return any(kind in route.events for route in self.routes)

    @property
    def percents(self) -> set[int]:
        """The thresholds of budgets that anybody is told of."""
        return {percent for route in self.routes for percent in route.budget_percents or ()}

    def receivers_of(self, notice: Notice) -> list[Receiver]:
        """Return who is told, each once."""
        names = {name for route in self.routes if route.takes(notice) for name in route.receivers}
        found = [one for one in self.receivers if one.name in names]
        return [one for one in found if one.takes_repeats] if notice.is_repeat else found


def read(file: Path, *, has_forecasts: bool = True) -> Settings:
    """Return what a file says. `has_forecasts`: whether starts are forecast here. Raises SettingsError."""
    try:
        documents = parse(read_text(file), str(file))
    except ManifestError as error:
        raise SettingsError(str(error)) from None
    if len(documents) != 1 or not isinstance(documents[0], dict):
        found = form(documents[0]) if len(documents) == 1 else f"{len(documents)} documents"
        raise SettingsError(f"{file}: must be one object with receivers and routes, is {found}")
    try:
        settings = Settings.model_validate(documents[0], by_alias=True, by_name=False)
    except ValidationError as error:
        found_faults = causes(error.errors(include_url=False))
        raise SettingsError("\n".join(f"{file}: {_line(one)}" for one in found_faults)) from None
    if not has_forecasts and (lines := list(_without_forecasts(settings))):
        raise SettingsError("\n".join(f"{file}: {line}" for line in lines))
    return settings


def _without_forecasts(settings: Settings) -> Iterator[str]:
    for number, route in enumerate(settings.routes):
        if Kind.LATE in route.events:
            index = route.events.index(Kind.LATE.value)
            yield (
                f'routes[{number}].events[{index}]: "Late": needs forecasts of starts, and this controller makes none;'
                " let --forecast-percent be more than 0"
            )


def _line(details: ErrorDetails) -> str:
    where = details["loc"]
    is_secret = where[:1] == ("receivers",) and not (len(where) > 2 and where[2] in _SHOWN)
    shown: ErrorDetails = {**details, "input": _HIDDEN} if is_secret else details
    return fault_line(_path(where), shown)


def _path(where: tuple[str | int, ...]) -> str:
    """Write a location as Kubernetes does: fields after dots, indexes and names of headers in brackets."""
    path = ""
    for step in where:
        if step == "[key]":
            continue
        is_entry = isinstance(step, int) or path.endswith(".headers")
        path += f"[{step}]" if is_entry else f".{step}" if path else str(step)
    return path
