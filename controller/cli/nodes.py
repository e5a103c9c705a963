"""`penstock flavors` and `nodes`: what there is of each flavor, in which state, and what is free of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from controller.cli.asking import Served, Source, source_options, without_api_option
from controller.cli.no_match import known_instead, nothing_matches
from controller.cli.row_output import Column, Output, output_options, show_rows
from controller.cli.sorting import in_order_of, sort_option
from controller.cli.watching import watch_option
from controller.visibility.node_rows import NODE_STATES, FlavorRow, NodeRow, amounts_text, taken_text

if TYPE_CHECKING:
    from controller.core.snapshot import Snapshot

_SERVED_FLAVORS = Served("flavorcapacities", FlavorRow, is_namespaced=False)
_SERVED_NODES = Served("flavornodes", NodeRow, is_namespaced=False)

_FLAVORS: tuple[Column[FlavorRow], ...] = (
    Column("FLAVOR", lambda row: row.name),
    Column("NODES", lambda row: str(row.nodes)),
    Column("READY", lambda row: str(row.ready)),
    Column("SCHEDULABLE", lambda row: str(row.schedulable)),
    Column("PODS", lambda row: str(row.pods)),
    Column("MODE", lambda row: row.mode, is_wide=True),
    Column("OTHERPODS", lambda row: str(row.other_pods), is_wide=True),
    Column("FREE", lambda row: amounts_text(row.resources, "free"), is_wide=True),
    Column("UNAVAILABLE", lambda row: amounts_text(row.resources, "unavailable"), is_wide=True),
    Column("QUOTA", lambda row: amounts_text(row.resources, "quota"), is_wide=True),
    Column("USED+OTHERS/CAPACITY", lambda row: taken_text(row.resources)),
    Column("MESSAGE", lambda row: row.message, is_wide=True),
)
_NODES: tuple[Column[NodeRow], ...] = (
    Column("NODE", lambda row: row.name),
    Column("FLAVOR", lambda row: row.flavor or "-"),
    Column("STATE", lambda row: row.state),
    Column("PODS", lambda row: str(row.pods)),
    Column("OTHERPODS", lambda row: str(row.other_pods), is_wide=True),
    Column("OTHERFLAVORS", lambda row: ",".join(row.other_flavors) or "-", is_wide=True),
    Column("NOTREADYSINCE", lambda row: row.not_ready_since or "-", is_wide=True),
    Column("FREE", lambda row: amounts_text(row.resources, "free"), is_wide=True),
    Column("USED+OTHERS/ALLOCATABLE", lambda row: taken_text(row.resources)),
)


@click.command()
@sort_option("by name")
@output_options
@without_api_option
@source_options
@watch_option
def flavors(sort_by: str | None, form: str, no_headers: bool, source: Source) -> None:
    """Show flavors, as Slurm's sinfo does: how many nodes each has, their resources, what is used and what is free.

    CAPACITY is what pods may use: the resources of nodes that are Ready and not cordoned, or the sums of a flavor of
    mode Autoscaled or Static. USED is the part that pods of queues take, OTHERS the part that other pods take. -o wide
    adds what is free, the resources of nodes that take no pods now, and the total quota of all ClusterQueues.

    \b
    Example:
      penstock flavors
      penstock flavors -o wide --watch
    """
    rows = source.rows(_SERVED_FLAVORS, _flavors).rows
    output = Output(form, not no_headers)
    named = lambda row: f"flavor/{row.name}"  # noqa: E731 - as the others have it
    show_rows(in_order_of(rows, sort_by), _FLAVORS, output, name=named, empty="No ResourceFlavors.")


@click.command()
@click.option("--flavor", metavar="NAME", help="Only those of this flavor.")
@click.option("--state", type=click.Choice(NODE_STATES, case_sensitive=False), multiple=True, help="Only these.")
@sort_option("by name")
@output_options
@without_api_option
@source_options
@watch_option
def nodes(
    flavor: str | None, state: tuple[str, ...], sort_by: str | None, form: str, no_headers: bool, source: Source
) -> None:
    """Show nodes: the flavor and state of each, how much of it is used, and how much is free.

    Penstock plans no pods on nodes that are Cordoned or NotReady. A node that several flavors select belongs to one of
    them; with -o wide the others are shown, too.

    \b
    Example:
      penstock nodes --flavor spot
      penstock nodes --state cordoned --state notready -o name
    """
    every = source.rows(_SERVED_NODES, _nodes).rows
    rows = [one for one in every if flavor in (None, one.flavor) and (not state or one.state in state)]
    empty = "No nodes."
    if every:
        hint = known_instead(flavor, (one.flavor for one in every))
        empty = nothing_matches("node", len(every), "", {"--flavor": flavor, "--state": state}, hint)
    output = Output(form, not no_headers)
    show_rows(in_order_of(rows, sort_by), _NODES, output, name=lambda row: f"node/{row.name}", empty=empty)


def _flavors(snapshot: Snapshot) -> list[FlavorRow]:
    from controller.visibility.nodes import flavors as flavors_of

    return flavors_of(snapshot)


def _nodes(snapshot: Snapshot) -> list[NodeRow]:
    from controller.visibility.nodes import nodes as nodes_of

    return nodes_of(snapshot)
