"""`penstock eff`: what pods used of what they asked for. The sums are `history.efficiency`'s."""

from __future__ import annotations

from collections.abc import Mapping

import click

from controller.cli.history_options import runs_options, source_options
from controller.cli.history_source import HistorySource, runs_of
from controller.cli.row_output import Column, Output, output_options, show_rows
from controller.history.efficiency import GROUPS, EfficiencyRow, efficiency
from controller.history.usage_columns import Span, UsageColumn
from controller.kube.clock import rfc3339

_COLUMNS: tuple[Column[EfficiencyRow], ...] = (
    Column("NAMESPACE", lambda row: row.namespace or "-"),
    Column("GROUP", lambda row: row.group or "-"),
    Column("PODS", lambda row: str(row.pods)),
    Column("SAMPLES", lambda row: str(row.samples), is_wide=True),
    Column("RESOURCE", lambda row: row.resource),
    Column("REQUESTED", lambda row: row.requested or "mixed"),
    Column("MEAN", lambda row: row.mean),
    Column("PEAK", lambda row: row.peak),
    Column("USED", lambda row: "-" if row.percent is None else f"{row.percent}%"),
    Column("HINT", lambda row: row.hint or "-"),
)


@click.command()
@runs_options(7)
@click.option("--by", type=click.Choice(list(GROUPS)), default="owner", show_default=True, help="Pods of one row.")
@output_options
@source_options
def eff(
    target: str | None,
    span: Span,
    where: Mapping[UsageColumn, tuple[str, ...]],
    by: str,
    limit: int,
    form: str,
    no_headers: bool,
    source: HistorySource,
) -> None:
    """Show what pods used of what they asked for, and which request would be enough, as Slurm's seff does.

    The controller takes a sample of each running pod a minute, where metrics-server is installed.

    TARGET is pod/NAME (or just NAME), job/NAME, group/NAME or another owner; without it, all pods that were there in
    the time. A TIME is 2026-11-01 (midnight UTC), 2026-11-01T14:00:00Z, 36h or 7d (so long ago), or now.

    \b
    Example:
      penstock eff job/train -n team-a
      penstock eff --by localQueue --from 30d
    """
    runs = runs_of(source, span, target, where, (), limit)
    if len(runs) == limit:
        click.echo(f"only the latest {limit} pods are counted; there may be more: see --limit", err=True)
    empty = "No pod was sampled" if runs else "No such pod was there"
    show_rows(
        efficiency(runs, by),
        _COLUMNS,
        Output(form, not no_headers),
        name=lambda row: row.group,
        empty=f"{empty} from {rfc3339(span.begin)} to {rfc3339(span.end)}.",
    )
