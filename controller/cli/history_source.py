"""Where commands ask for the history: the visibility API, which answers each viewer what they may see, or a database.

Whoever names a database asks that. What talks to databases takes long to import: only who names one does that.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

import click

from controller.cli.refusals import told
from controller.cli.targets import read_target
from controller.cli.visibility_client import NotAnswering, NotServed, VisibilityClient, visibility_client
from controller.extension_api.queueing.pod_runs import MOST, PLURAL
from controller.extension_api.queueing.usage_reports import (
    CLUSTER_KIND,
    CLUSTER_PLURAL,
    KIND,
    UsageReportRow,
)
from controller.extension_api.queueing.usage_reports import PLURAL as REPORTS
from controller.extension_api.reading import within
from controller.extension_api.resources import API_VERSION
from controller.history.run_rows import RunRow, run_row
from controller.history.run_store import HistoryError, RunReader
from controller.history.usage_columns import Span, UsageColumn
from controller.history.usage_rows import UsageRow
from controller.history.wanted import Wanted, WantedUsage
from controller.kube import clock
from controller.kube.clock import rfc3339
from controller.kube.errors import Forbidden, Invalid, one_line

if TYPE_CHECKING:
    from controller.history.store import Store

_T = TypeVar("_T")

_NAMED: Final = "--history URL (or PENSTOCK_HISTORY) reads its database"
_FIELDS: Final = {
    UsageColumn.CLUSTER_QUEUE: "queues",
    UsageColumn.USER: "users",
    UsageColumn.FLAVOR: "flavors",
}


class HistorySource(Protocol):
    """What answers."""

    def runs(self, wanted: Wanted, most: int) -> list[RunRow]:
        """Return so many runs, those that were created last first."""

    def usage(self, wanted: WantedUsage) -> list[UsageRow]:
        """Return what was used."""


@dataclass(frozen=True, slots=True)
class StoredHistory:
    """A database."""

    store: Store

    def runs(self, wanted: Wanted, most: int) -> list[RunRow]:
        """Return so many runs, those that were created last first. Raises ClickException."""
        now = int(clock.now())
        with self._reading() as reader:
            return [run_row(one, now) for one in reader.find(wanted, most=most)]

    def usage(self, wanted: WantedUsage) -> list[UsageRow]:
        """Return what was used. Raises ClickException."""
        with self._reading() as reader:
            return reader.usage(wanted, now=int(clock.now()))

    @contextmanager
    def _reading(self) -> Iterator[RunReader]:
        from controller.history.reader import Reader

        try:
            yield Reader(self.store)
        except HistoryError as error:
            raise click.ClickException(f"--history: {error}") from None


@dataclass(frozen=True, slots=True)
class ServedHistory:
    """The visibility API of the cluster of a kubeconfig."""

    kubeconfig: str | None
    context: str | None

    def runs(self, wanted: Wanted, most: int) -> list[RunRow]:
        """Return so many runs, those that were created last first. Raises ClickException and KubeError."""
        namespaces = list(wanted.where.get(UsageColumn.NAMESPACE, ()))
        parameters = [*_parameters(wanted), ("limit", str(min(most, MOST)))]

        async def listed(api: VisibilityClient) -> list[RunRow]:
            paths = [within(one, PLURAL) for one in namespaces or (None,)]
            found = [row for path in paths for row in await api.pages(path, parameters, RunRow, most)]
            # those of one namespace are in order, and ties keep it
            return sorted(found, key=lambda row: row.created, reverse=True)[:most]

        return self._asked(listed, is_of_all=not namespaces)

    def usage(self, wanted: WantedUsage) -> list[UsageRow]:
        """Return what was used. Raises ClickException and KubeError."""
        namespaces = list(wanted.where.get(UsageColumn.NAMESPACE, ()))
        spec = dict(_spec(wanted))
        path, kind = within(None, CLUSTER_PLURAL), CLUSTER_KIND
        if len(namespaces) == 1:
            path, kind = within(namespaces[0], REPORTS), KIND
        elif namespaces:
            spec["namespaces"] = namespaces
        body = {"apiVersion": API_VERSION, "kind": kind, "spec": spec}

        async def reported(api: VisibilityClient) -> list[UsageRow]:
            try:
                return (await api.created(path, body, UsageReportRow)).rows
            except Invalid as error:
                why = one_line(error).partition(" is invalid: ")[2] or one_line(error)
                raise click.ClickException(why.replace("spec.", "--")) from None

        return self._asked(reported, is_of_all=len(namespaces) != 1)

    def _asked(self, ask: Callable[[VisibilityClient], Awaitable[_T]], *, is_of_all: bool) -> _T:
        async def asked() -> _T:
            async with visibility_client(self.kubeconfig, self.context) as client:
                return await ask(client)

        try:
            return asyncio.run(asked())
        except NotServed:
            lacking = "the cluster serves no history: its controllers need --history and the visibility API"
            raise click.ClickException(f"{lacking} (docs/history.md); {_NAMED}") from None
        except Forbidden as error:
            if is_of_all:
                raise click.ClickException(f"{told(error)}; -n NAME asks about one namespace") from None
            raise
        except NotAnswering as error:
            raise click.ClickException(f"{one_line(error.__cause__ or error)}; {_NAMED}") from None


def runs_of(
    source: HistorySource,
    span: Span,
    target: str | None,
    where: Mapping[UsageColumn, tuple[str, ...]],
    states: tuple[str, ...],
    limit: int,
) -> list[RunRow]:
    """Return so many runs of a target as people write it; None: of all. Raises ClickException and KubeError."""
    named = None if target is None else read_target(target)
    kind, name = ("", "") if named is None else (named.kind, named.name)
    return source.runs(Wanted(span, where, states, kind, name), limit)


def _parameters(wanted: Wanted) -> Iterator[tuple[str, str]]:
    yield "from", rfc3339(wanted.span.begin)
    yield "to", rfc3339(wanted.span.end)
    for name, column in (("queue", UsageColumn.LOCAL_QUEUE), ("user", UsageColumn.USER)):
        yield from ((name, one) for one in wanted.where.get(column, ()))
    yield from (("state", one) for one in wanted.states)
    if wanted.name:
        yield "target", f"{wanted.kind}/{wanted.name}"


def _spec(wanted: WantedUsage) -> Iterator[tuple[str, Any]]:
    yield "from", rfc3339(wanted.span.begin)
    yield "to", rfc3339(wanted.span.end)
    yield "by", list(wanted.by)
    if wanted.period is not None:
        yield "per", wanted.period.unit.lower()
        yield "zone", wanted.period.zone_name
    yield from ((name, list(wanted.where[column])) for column, name in _FIELDS.items() if column in wanted.where)
