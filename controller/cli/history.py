"""`penstock history` and `audit`: what became of pods, and who opened the gate of one, when and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import click

from controller.cli.history_options import runs_options, source_options
from controller.cli.history_source import HistorySource, runs_of
from controller.cli.output import show_document
from controller.cli.row_output import Column, Output, output_options, show_rows
from controller.core.calendar.durations import format_duration
from controller.history.run_rows import RunRow
from controller.history.runs import STATES
from controller.history.usage_columns import Span, UsageColumn
from controller.kube import clock
from controller.kube.clock import epoch, rfc3339
from controller.visibility.start_rows import wait_text


def _planned(row: RunRow) -> str:
    """Write for how long the first forecast expected it to wait."""
    return wait_text(max(0.0, epoch(row.planned) - epoch(row.created))) if row.planned else "-"


_COLUMNS: tuple[Column[RunRow], ...] = (
    Column("NAMESPACE", lambda row: row.namespace),
    Column("POD", lambda row: row.name),
    Column("OWNER", lambda row: row.owner or "-", is_wide=True),
    Column("QUEUE", lambda row: row.local_queue),
    Column("CLUSTERQUEUE", lambda row: row.cluster_queue or "-", is_wide=True),
    Column("FLAVOR", lambda row: row.flavor or "-"),
    Column("USER", lambda row: row.user or "-", is_wide=True),
    Column("REQUESTS", lambda row: ",".join(f"{name}={amount}" for name, amount in row.requests.items()), is_wide=True),
    Column("CREATED", lambda row: row.created),
    Column("STARTED", lambda row: row.started or "-", is_wide=True),
    Column("ENDED", lambda row: row.ended or "-", is_wide=True),
    Column("WAITED", lambda row: wait_text(row.waited)),
    Column("PLANNED", _planned, is_wide=True),
    Column("RAN", lambda row: wait_text(row.ran) if row.started else "-"),
    Column("NODE", lambda row: row.node or "-", is_wide=True),
    Column("STATE", lambda row: row.state),
    Column("REASON", lambda row: row.reason or "-"),
)


@click.command()
@runs_options(7)
@click.option("--state", "states", type=click.Choice(STATES), multiple=True, help="Only this state.")
@output_options
@source_options
def history(
    target: str | None,
    span: Span,
    where: Mapping[UsageColumn, tuple[str, ...]],
    states: tuple[str, ...],
    limit: int,
    form: str,
    no_headers: bool,
    source: HistorySource,
) -> None:
    """Show past and present pods, the latest first, as Slurm's sacct does: how long each waited and ran, and its end.

    TARGET is pod/NAME (or just NAME), job/NAME, group/NAME or another owner; without it, all pods that existed in that
    period. A TIME is 2026-11-01 (midnight UTC), 2026-11-01T14:00:00Z, 36h or 7d (that long ago), or now.

    \b
    Example:
      penstock history job/train -n team-a
      penstock history --from 24h --state Evicted -o wide
    """
    rows = runs_of(source, span, target, where, states, limit)
    if len(rows) == limit:
        click.echo(f"the latest {limit} pods are shown; there may be more: see --limit", err=True)
    show_rows(
        rows,
        _COLUMNS,
        Output(form, not no_headers),
        name=lambda row: f"pod/{row.name}",
        empty=f"No such pod was there from {rfc3339(span.begin)} to {rfc3339(span.end)}.",
    )


@click.command()
@click.argument("target", metavar="TARGET")
@click.option("-n", "--namespace", metavar="NAME", help="Its namespace; default: all namespaces.")
@click.option("-o", "--output", "form", type=click.Choice(["text", "json", "yaml"]), default="text", show_default=True)
@source_options
def audit(target: str, namespace: str | None, form: str, source: HistorySource) -> None:
    """Say who opened the gate of a pod, when, for which queue and flavor, and what it had waited for.

    TARGET is pod/NAME (or just NAME), job/NAME, group/NAME or another owner: then all of its pods.

    Exit code: 0 there is an answer, 1 no such pod was ever seen.

    \b
    Example:
      penstock audit pod/train-7 -n team-a
    """
    where = {} if namespace is None else {UsageColumn.NAMESPACE: (namespace,)}
    rows = runs_of(source, Span(0, int(clock.now()) + 1), target, where, (), 1000)
    if not rows:
        place = "" if namespace is None else f" in namespace {namespace}"
        raise click.ClickException(f"{target}: the history has no such pod{place}; penstock history lists what it has")
    if form == "text":
        click.echo("\n\n".join("\n".join(_told(row)) for row in rows))
    else:
        from msgspec import to_builtins

        show_document(to_builtins(rows), form)


def _told(row: RunRow) -> Iterator[str]:
    """Yield what is known of a pod, from its creation to its end."""
    by = f" by {row.user}" if row.user else ""
    yield f"pod/{row.name} in namespace {row.namespace}: {row.state}"
    yield f"  {row.created}  created{by}, for LocalQueue {row.local_queue}"
    longest = sorted(row.waited_for.items(), key=lambda one: (-one[1], one[0]))
    yield from (f"      waited {format_duration(seconds)} for {reason}" for reason, seconds in longest)
    if row.admitted:
        onto = f"ClusterQueue {row.cluster_queue} onto flavor {row.flavor}"
        who = f"by the controller {row.admitted_by}, " if row.admitted_by else ""
        yield f"  {row.admitted}  gate opened {who}for {onto}, after {wait_text(row.waited)}"
    if row.bound:
        yield f"  {row.bound}  bound to node {row.node}"
    if row.started:
        yield f"  {row.started}  started{'' if row.bound or not row.node else f' on node {row.node}'}"
    if row.ended:
        why = f": {row.reason}, {row.message}" if row.message else ""
        yield f"  {row.ended}  {row.state.lower()}{why}"
