"""`penstock usage`: hours and money by who used them. The sums are `history.usage`'s."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import click

from controller.api.time_zones import is_zone, load_zone
from controller.cli.history_options import source_options, span_options
from controller.cli.history_source import HistorySource
from controller.cli.row_output import Column, Output, output_options, show_rows
from controller.core.budgets.periods import CalendarPeriod, CalendarUnit
from controller.history.usage_columns import BY, Span, UsageColumn, read_by
from controller.history.usage_rows import UsageRow
from controller.history.wanted import WantedUsage
from controller.kube.clock import rfc3339

_NARROWED: Final = (UsageColumn.NAMESPACE, UsageColumn.CLUSTER_QUEUE, UsageColumn.USER, UsageColumn.FLAVOR)


def _read_by(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    try:
        return tuple(dict.fromkeys(map(read_by, values)))
    except ValueError as error:
        raise click.BadParameter(f"{error}; choose of {BY}", ctx, param) from None


@click.command()
@span_options(30)
@click.option(
    "--by",
    metavar="COLUMN",
    callback=_read_by,
    multiple=True,
    default=[UsageColumn.CLUSTER_QUEUE.value],
    show_default=True,
    help=f"Sum by this, can be repeated: {BY}.",
)
@click.option("--per", type=click.Choice(["day", "week", "month"]), help="Rows for each of these.")
@click.option("--zone", default="UTC", show_default=True, help="Time zone in which days begin, such as Europe/Berlin.")
@click.option("-n", "--namespace", "namespaces", metavar="NAME", multiple=True, help="Only this namespace.")
@click.option("--queue", "queues", metavar="NAME", multiple=True, help="Only this ClusterQueue.")
@click.option("--user", "users", metavar="NAME", multiple=True, help="Only this user.")
@click.option("--flavor", "flavors", metavar="NAME", multiple=True, help="Only this flavor.")
@output_options
@source_options
def usage(
    span: Span,
    by: tuple[str, ...],
    per: str | None,
    zone: str,
    namespaces: tuple[str, ...],
    queues: tuple[str, ...],
    users: tuple[str, ...],
    flavors: tuple[str, ...],
    form: str,
    no_headers: bool,
    source: HistorySource,
) -> None:
    """Show what was used in a period: hours of each resource, and money by the prices of flavors.

    A pod uses what it asks for from its start to its end. One that is still running has used it until now.

    A TIME is 2026-11-01 (midnight UTC), 2026-11-01T14:00:00Z, 36h or 7d (that long ago), or now.

    \b
    Example:
      penstock usage --from 2026-11-01 --to 2026-12-01 --by clusterQueue --by user
      penstock usage --per month --from 365d -n team-a -o csv
    """
    narrowed = zip(_NARROWED, (namespaces, queues, users, flavors), strict=True)
    where = {one: those for one, those in narrowed if those}
    rows = source.usage(WantedUsage(span, by, where, _period(per, zone)))
    show_rows(
        rows,
        _columns(by, rows, is_split=per is not None),
        Output(form, not no_headers),
        name=lambda row: "/".join(row.by.values()),
        empty=f"Nothing ran from {rfc3339(span.begin)} to {rfc3339(span.end)}.",
    )


def _period(per: str | None, zone: str) -> CalendarPeriod | None:
    if per is None:
        return None
    if not is_zone(zone):
        raise click.UsageError(f"--zone: {zone!r} is no zone of the IANA time zone database; write it as Europe/Berlin")
    return CalendarPeriod(CalendarUnit(per.capitalize()), load_zone(zone), zone)


def _columns(columns: Sequence[str], rows: Sequence[UsageRow], *, is_split: bool) -> tuple[Column[UsageRow], ...]:
    """One column for each resource that any row has, so that a spreadsheet can add them up."""
    resources = sorted({name for row in rows for name in row.hours})
    begin: Column[UsageRow] = Column("FROM", lambda row: row.begin)
    return (
        *([begin] if is_split else []),
        *map(_by, columns),
        Column("PODS", lambda row: str(row.runs)),
        *map(_hours, resources),
        Column("COST", lambda row: row.cost),
    )


def _by(one: str) -> Column[UsageRow]:
    return Column(one.upper(), lambda row: row.by[one] or "-")


def _hours(resource: str) -> Column[UsageRow]:
    return Column(f"{resource.upper()}-HOURS", lambda row: row.hours.get(resource, "0"))
