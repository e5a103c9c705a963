"""`penstock pods`, `jobs` and `prio`: who waits where and why, and what decides the order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import click

from controller.cli.asking import Answer, Served, Source, found_out, source_options, without_api_option
from controller.cli.no_match import known_instead, nothing_matches
from controller.cli.row_output import Column, Output, output_options, show_rows
from controller.cli.selecting import selected, selector_option
from controller.cli.sorting import in_order_of, sort_option
from controller.cli.watching import watch_option
from controller.extension_api.resources import HIDDEN
from controller.visibility.rows import JobRow, OrderRow, PodRow
from controller.visibility.rows import jobs as jobs_of
from controller.visibility.start_rows import starts_in

if TYPE_CHECKING:
    from controller.core.snapshot import Snapshot

_STATES = ("Pending", "Reserved", "Running")
_PODS = Served("queuepods", PodRow)
_ORDERS = Served("workloadorders", OrderRow)


def _place(place: int) -> str:
    return str(place) if place else "-"


def _age(since: str, now: float) -> str:
    """Write how long ago a time was, as kubectl does."""
    seconds = max(0, int(now - datetime.fromisoformat(since).timestamp()))
    for unit, size in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if seconds >= 2 * size:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"


def _pod_columns(now: float) -> tuple[Column[PodRow], ...]:
    return (
        Column("NAMESPACE", lambda row: row.namespace),
        Column("POD", lambda row: row.name),
        Column("QUEUE", lambda row: row.local_queue),
        Column("STATE", lambda row: row.state),
        Column("PLACE", lambda row: _place(row.place)),
        Column("STARTSIN", lambda row: starts_in(row.start, now)),
        Column("SINCE", lambda row: _age(row.since, now)),
        Column("CLUSTERQUEUE", lambda row: row.cluster_queue, is_wide=True),
        Column("PRIORITY", lambda row: str(row.priority), is_wide=True),
        Column("REQUESTS", lambda row: ",".join(f"{key}={value}" for key, value in row.requests.items()), is_wide=True),
        Column("OWNER", lambda row: row.owner, is_wide=True),
        Column("USER", lambda row: row.user, is_wide=True),
        Column("FLAVOR", lambda row: row.flavor or "-"),
        Column("NODE", lambda row: row.node or "-", is_wide=True),
        Column("REASON", lambda row: row.reason or "-"),
        Column("MESSAGE", lambda row: row.message, is_wide=True),
    )


def _job_columns(now: float) -> tuple[Column[JobRow], ...]:
    return (
        Column("NAMESPACE", lambda row: row.namespace),
        Column("NAME", lambda row: f"{row.kind.lower()}/{row.name}"),
        Column("QUEUE", lambda row: row.local_queue),
        Column("PENDING", lambda row: str(row.pending)),
        Column("RESERVED", lambda row: str(row.reserved)),
        Column("RUNNING", lambda row: str(row.running)),
        Column("PLACE", lambda row: _place(row.place)),
        Column("STARTSIN", lambda row: starts_in(row.start, now)),
        Column("AGE", lambda row: _age(row.created, now)),
        Column("CLUSTERQUEUE", lambda row: row.cluster_queue, is_wide=True),
        Column("REASON", lambda row: row.reason or "-"),
        Column("MESSAGE", lambda row: row.message, is_wide=True),
    )


_ORDER: tuple[Column[OrderRow], ...] = (
    Column("NAMESPACE", lambda row: row.namespace),
    Column("NAME", lambda row: row.name),
    Column("CLUSTERQUEUE", lambda row: row.cluster_queue or "-"),
    Column("PLACE", lambda row: str(row.place)),
    Column("BEGUN", lambda row: "yes" if row.begun else "-"),
    Column("GANG", lambda row: "first" if row.completes_gang else "-"),
    Column("PRIORITY", lambda row: str(row.priority)),
    Column("QUEUEUSAGE", lambda row: row.queue_usage or "-"),
    Column("USERUSAGE", lambda row: row.user_usage or "-"),
    Column("OWNERCREATED", lambda row: row.owner_created),
    Column("INDEX", lambda row: str(row.index)),
    Column("CREATED", lambda row: row.created),
    Column("BEHIND", lambda row: row.behind or "-"),
)


@click.command()
@click.option("--state", type=click.Choice(_STATES, case_sensitive=False), multiple=True, help="Only these.")
@click.option("--queue", metavar="NAME", help="Only those of this LocalQueue.")
@sort_option("those that wait, in their order")
@selector_option
@output_options
@without_api_option
@source_options
@watch_option
def pods(
    state: tuple[str, ...],
    queue: str | None,
    sort_by: str | None,
    selector: str | None,
    form: str,
    no_headers: bool,
    source: Source,
) -> None:
    """Show the pods of queues, as Slurm's squeue does: which wait, at which place and why, and which are admitted or
    run.

    PLACE is the place in the order of the ClusterQueue, STARTSIN the median of the controller's forecasts, which the
    visibility API has. `penstock explain` says more of one pod, `penstock eta` gives ranges.

    \b
    Example:
      penstock pods -n team-a
      penstock pods -A --state Pending -o wide
      penstock pods --sort-by priority -o csv
    """
    found, selected_rows = _pods(source, selector)
    rows = [one for one in selected_rows if _is_wanted(one, state, queue)]
    output, columns = Output(form, not no_headers), _pod_columns(found.now)
    empty = _empty(source, found.rows, {"-l": selector, "--state": state, "--queue": queue}, queue)
    show_rows(in_order_of(rows, sort_by), columns, output, name=lambda row: f"pod/{row.name}", empty=empty)


@click.command()
@click.option("--queue", metavar="NAME", help="Only those of this LocalQueue.")
@sort_option("those that wait, in their order")
@selector_option
@output_options
@without_api_option
@source_options
@watch_option
def jobs(
    queue: str | None, sort_by: str | None, selector: str | None, form: str, no_headers: bool, source: Source
) -> None:
    """Show Jobs and other owners of pods: how many pods wait and run, the place of the first, and why it waits.

    \b
    Example:
      penstock jobs -n team-a
      penstock jobs -A -l team=vision -o wide
    """
    found, selected_rows = _pods(source, selector)
    rows = [one for one in jobs_of(selected_rows) if queue is None or one.local_queue == queue]
    output, columns = Output(form, not no_headers), _job_columns(found.now)
    empty = _empty(source, found.rows, {"-l": selector, "--queue": queue}, queue)
    named = lambda row: f"{row.kind.lower()}/{row.name}"  # noqa: E731 - as the others have it
    show_rows(in_order_of(rows, sort_by), columns, output, name=named, empty=empty)


@click.command()
@output_options
@without_api_option
@source_options
@watch_option
def prio(form: str, no_headers: bool, source: Source) -> None:
    """Show what decides the place of each workload that waits, as Slurm's sprio does: the first difference counts.

    The columns are in order of importance: pods were preempted for it (BEGUN), a gang lacks it (GANG), its priority,
    what its queue and its user have used lately, when its owner was created, its completion index, when it was created.

    \b
    Example:
      penstock prio -n team-a
    """
    show_rows(
        source.rows(_ORDERS, lambda snapshot: _order(snapshot, source)).rows,
        _ORDER,
        Output(form, not no_headers),
        name=lambda row: row.name,
        empty=f"Nothing waits {source.place}.",
    )


def _pods(source: Source, selector: str | None) -> tuple[Answer[PodRow], list[PodRow]]:
    """Return all pods of queues, and those that a selector selects."""
    chosen = selected(source, selector)
    found = source.rows(_PODS, lambda snapshot: _pods_of(snapshot, source))
    rows = _latest(found.rows)
    return Answer(rows, found.now), [one for one in rows if chosen is None or (one.namespace, one.name) in chosen]


def _empty(
    source: Source, rows: Sequence[PodRow], filters: Mapping[str, str | Sequence[str] | None], queue: str | None
) -> str:
    if not rows:
        return f"No pods name a queue {source.place}."
    hint = known_instead(queue, (one.local_queue for one in rows))
    return nothing_matches("pod", len(rows), f"of queues {source.place}", filters, hint)


def _pods_of(snapshot: Snapshot, source: Source) -> list[PodRow]:
    from controller.visibility.workloads import pods as pods_of

    return pods_of(snapshot, found_out(snapshot), source.namespaces)


def _order(snapshot: Snapshot, source: Source) -> list[OrderRow]:
    from controller.visibility.order_parts import order

    return order(snapshot, source.namespaces)


def _latest(rows: list[PodRow]) -> list[PodRow]:
    """Leave out how a pod stood before: the cluster goes on while the API lists, which may show it twice."""
    last = {(one.namespace, one.name): at for at, one in enumerate(rows)}
    return [one for at, one in enumerate(rows) if one.name == HIDDEN or last[one.namespace, one.name] == at]


def _is_wanted(row: PodRow, states: Sequence[str], queue: str | None) -> bool:
    return (not states or row.state in states) and (queue is None or row.local_queue == queue)
