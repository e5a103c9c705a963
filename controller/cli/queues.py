"""`penstock queues` and `share`: what queues give, and what they count for. The figures are `visibility`'s."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from controller.cli.asking import Served, Source, source_options, without_api_option
from controller.cli.row_output import Column, Output, output_options, show_rows
from controller.cli.watching import watch_option
from controller.visibility.rows import ClusterQueueRow, FlavorUse, LocalQueueRow, ShareRow

if TYPE_CHECKING:
    from controller.core.snapshot import Snapshot

_SERVED_CLUSTER_QUEUES = Served("clusterqueues", ClusterQueueRow, is_namespaced=False)
_SERVED_LOCAL_QUEUES = Served("localqueues", LocalQueueRow)
_SERVED_SHARES = Served("queueshares", ShareRow, is_namespaced=False)


def _use(flavors: tuple[FlavorUse, ...]) -> str:
    """Write `spot cpu 6/14, on-demand cpu 0/2`: used of what is given."""
    return ", ".join(
        f"{flavor.name} {one.name} {one.used}/{one.quota}" for flavor in flavors for one in flavor.resources
    )


def _moved(flavors: tuple[FlavorUse, ...], what: str) -> str:
    """Write what is borrowed, lent or free of each resource, where that is anything."""
    found = ((flavor.name, one.name, getattr(one, what)) for flavor in flavors for one in flavor.resources)
    return ", ".join(f"{flavor} {name} {amount}" for flavor, name, amount in found if amount != "0")


_CLUSTER_QUEUES: tuple[Column[ClusterQueueRow], ...] = (
    Column("CLUSTERQUEUE", lambda row: f"{'  ' * row.depth}{row.name}"),
    Column("PENDING", lambda row: str(row.pending)),
    Column("RESERVED", lambda row: str(row.reserved)),
    Column("RUNNING", lambda row: str(row.running)),
    Column("BORROWED", lambda row: _moved(row.flavors, "borrowed"), is_wide=True),
    Column("LENT", lambda row: _moved(row.flavors, "lent"), is_wide=True),
    Column("FREE", lambda row: _moved(row.flavors, "free"), is_wide=True),
    Column("STRATEGY", lambda row: row.strategy, is_wide=True),
    Column("SHARE", lambda row: "" if row.share is None else str(row.share), is_wide=True),
    Column("LIMITS", lambda row: ", ".join(f"{one.name} {one.used}/{one.max}" for one in row.limits), is_wide=True),
    Column("ACTIVE", lambda row: "yes" if row.active else "no"),
    Column("USED/QUOTA", lambda row: _use(row.flavors) or row.message),
    Column("MESSAGE", lambda row: "; ".join((row.message, *row.used_up)).strip("; "), is_wide=True),
)
_LOCAL_QUEUES: tuple[Column[LocalQueueRow], ...] = (
    Column("NAMESPACE", lambda row: row.namespace),
    Column("LOCALQUEUE", lambda row: row.name),
    Column("CLUSTERQUEUE", lambda row: row.cluster_queue),
    Column("PENDING", lambda row: str(row.pending)),
    Column("RESERVED", lambda row: str(row.reserved)),
    Column("RUNNING", lambda row: str(row.running)),
    Column("ACTIVE", lambda row: "yes" if row.active else "no"),
    Column("FREE", lambda row: _moved(row.flavors, "free"), is_wide=True),
    Column("USED/QUOTA", lambda row: _use(row.flavors) or row.message),
    Column("MESSAGE", lambda row: row.message, is_wide=True),
)
_SHARES: tuple[Column[ShareRow], ...] = (
    Column("KIND", lambda row: row.kind),
    Column("NAME", lambda row: row.name),
    Column("PARENT", lambda row: row.parent),
    Column("RANK", lambda row: str(row.rank)),
    Column("WEIGHT", lambda row: row.weight),
    Column("SHARE", lambda row: "" if row.share is None else str(row.share)),
    Column("USED", lambda row: row.used),
)


@click.command()
@click.option("--local", "is_local", is_flag=True, help="Show LocalQueues, which pods name, instead of the tree.")
@output_options
@without_api_option
@source_options
@watch_option
def queues(is_local: bool, form: str, no_headers: bool, source: Source) -> None:
    """Show the tree of ClusterQueues: how many pods wait and run, and how much of which quota is used.

    The quota of a queue includes what the queues below it own. -o wide adds what is borrowed, lent and free. --local
    shows the LocalQueues of a namespace (-A: of all), with their own use.

    \b
    Example:
      penstock queues
      penstock queues --local -n team-a
      penstock queues --snapshot now.json.gz -o csv
    """
    output = Output(form, not no_headers)
    if is_local:
        show_rows(
            source.rows(_SERVED_LOCAL_QUEUES, lambda snapshot: _local_queues(snapshot, source)).rows,
            _LOCAL_QUEUES,
            output,
            name=lambda row: f"localqueue/{row.name}",
            empty=f"No LocalQueues {source.place}.",
        )
    else:
        show_rows(
            source.rows(_SERVED_CLUSTER_QUEUES, _cluster_queues).rows,
            _CLUSTER_QUEUES,
            output,
            name=lambda row: f"clusterqueue/{row.name}",
            empty="No ClusterQueues.",
        )


@click.command()
@output_options
@without_api_option
@source_options
@watch_option
def share(form: str, no_headers: bool, source: Source) -> None:
    """Show the figures that order queues by share or past usage, as Slurm's sshare does.

    SHARE of a ClusterQueue is how much it borrows of what it could get, by its weight, in thousandths. USED of a
    LocalQueue is its recent usage, in cores or their equivalent. RANK 1 goes first.

    \b
    Example:
      penstock share
    """
    show_rows(
        source.rows(_SERVED_SHARES, _shares).rows,
        _SHARES,
        Output(form, not no_headers),
        name=lambda row: f"{row.kind.lower()}/{row.name}",
        empty="No tree shares fairly, and no past usage orders a queue.",
    )


def _cluster_queues(snapshot: Snapshot) -> list[ClusterQueueRow]:
    from controller.visibility.queues import cluster_queues

    return cluster_queues(snapshot)


def _local_queues(snapshot: Snapshot, source: Source) -> list[LocalQueueRow]:
    from controller.visibility.queues import local_queues

    return local_queues(snapshot, source.namespaces)


def _shares(snapshot: Snapshot) -> list[ShareRow]:
    from controller.visibility.order_parts import shares

    return shares(snapshot)
