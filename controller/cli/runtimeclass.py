"""`penstock runtimeclass`: asks and prints; which nodes are for a class judges `core.kubernetes.class_nodes`."""

from __future__ import annotations

import asyncio

import click
import orjson
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from controller.core.kubernetes.class_nodes import Verdict, judge
from controller.core.kubernetes.names import is_dns_subdomain
from controller.core.kubernetes.runtime_classes import RuntimeClass
from controller.core.reasons import first_few
from controller.kube import config
from controller.kube.client import Client
from controller.kube.decode import decode_node, decode_runtime_class
from controller.kube.errors import NotFound
from controller.kube.listing import list_all
from controller.telemetry.options import connection_options

_CLASSES = "/apis/node.k8s.io/v1/runtimeclasses"
_NODES = "/api/v1/nodes"
_NAMED_MOST = 10


@click.group()
def runtimeclass() -> None:
    """See what RuntimeClasses mean for this cluster.

    \b
    Example:
      penstock runtimeclass nodes gvisor
    """


@runtimeclass.command()
@click.argument("name")
@connection_options
@click.option("--output", "-o", type=click.Choice(["table", "json"]), default="table", show_default=True)
def nodes(name: str, kubeconfig: str | None, context: str | None, output: str) -> None:
    """Show which nodes take the pods of RuntimeClass NAME, and why each other node does not.

    A node matches when it has the labels of the class's nodeSelector, the class tolerates its taints, and it is ready.
    Pods may also have selectors and tolerations of their own. The command does not check free room.

    \b
    Example:
      penstock runtimeclass nodes gvisor
      penstock runtimeclass nodes gvisor --output json
    """
    found, verdicts = asyncio.run(ask(name, kubeconfig, context))
    if output == "json":
        _show_json(found, verdicts)
    else:
        _show_table(found, verdicts)


async def ask(name: str, kubeconfig: str | None, context: str | None) -> tuple[RuntimeClass, list[Verdict]]:
    """Return the class, and what each node is to it. Raises KubeError or ConfigError; ClickException without it."""
    async with Client(await config.load(kubeconfig, context), user_agent="penstock-cli") as client:
        found = await find_class(client, name)
        return found, judge(found, await list_all(client, _NODES, decode_node))


async def find_class(client: Client, name: str) -> RuntimeClass:
    """Return the class of this name. Raises ClickException with the names of all where there is none, KubeError."""
    try:
        if is_dns_subdomain(name):  # anything else is no part of a path
            return decode_runtime_class(await client.get(f"{_CLASSES}/{name}"))
    except NotFound:
        pass
    names = sorted(one.name for one in await list_all(client, _CLASSES, decode_runtime_class))
    there = f"there are {first_few(names, _NAMED_MOST)}" if names else "the cluster has none"
    raise click.ClickException(f"RuntimeClass {name!r} does not exist; {there}")


def _show_json(found: RuntimeClass, verdicts: list[Verdict]) -> None:
    listed = [
        {
            "name": one.node,
            "matches": one.matches,
            "cordoned": one.is_cordoned,
            "reasons": [{"reason": finding.obstacle, "message": finding.text} for finding in one.findings],
        }
        for one in verdicts
    ]
    document = {"runtimeClass": found.name, "handler": found.handler, "nodes": listed}
    click.echo(orjson.dumps(document, option=orjson.OPT_INDENT_2))


def _show_table(found: RuntimeClass, verdicts: list[Verdict]) -> None:
    if not verdicts:
        click.echo(f"The cluster has no nodes, so none takes pods of RuntimeClass {found.name}.")
        return
    table = Table(box=box.SIMPLE_HEAD)
    for heading in ("NODE", "MATCHES"):
        table.add_column(heading, no_wrap=heading != "NODE", overflow="fold")
    table.add_column("WHY", overflow="fold")
    for one in sorted(verdicts, key=lambda one: not one.matches):
        # Text: labels and taints may hold what rich takes for markup
        table.add_row(Text(one.node), "yes" if one.matches else "no", Text(_why(one)))
    console = Console()
    console.print(table)
    console.print(_summary(found, verdicts), markup=False, highlight=False, soft_wrap=True)


def _why(verdict: Verdict) -> str:
    notes = ["cordoned: takes no new pods for now"] if verdict.is_cordoned else []
    return "\n".join([*(finding.text for finding in verdict.findings), *notes])


def _summary(found: RuntimeClass, verdicts: list[Verdict]) -> str:
    matching = sum(one.matches for one in verdicts)
    text = f"RuntimeClass {found.name} (handler {found.handler}): {matching} of {len(verdicts)} nodes match."
    if not matching:
        text += " Its pods stay Pending until a node does."
    elif all(one.is_cordoned for one in verdicts if one.matches):
        text += " All of these are cordoned: its pods stay Pending for now."
    if not found.node_selector:
        text += " The class has no nodeSelector, so it does not say which nodes have its handler."
    return text
