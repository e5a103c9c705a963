"""`penstock sandbox`: reads the command line and prints; what a sandbox is and does stands in `controller.sandbox`."""

from __future__ import annotations

import asyncio
import shlex
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
import msgspec
from click.core import ParameterSource

from controller.cli.counts import counted
from controller.cli.sandbox_options import DEFAULT_NAME, kubernetes_option, name_option, told_as_usage, with_option
from controller.cli.sandbox_run import run
from controller.cli.sandbox_status import gather, show_json, show_table
from controller.kube import clock
from controller.sandbox import NodeShape, Sandbox, SandboxError, binaries
from controller.sandbox import launch as life
from controller.sandbox.layout import Layout
from controller.sandbox.nodes import check_shape
from controller.sandbox.operators import chosen
from controller.sandbox.spec import Phase, Spec, check_spec, load_spec, load_state, names

_SHAPE = "node"
"""Shape of the nodes that `up` makes, and that nodes are added to where no shape is named."""

F = TypeVar("F", bound=Callable[..., Any])


_name_option = name_option("Which sandbox; several can run at once.")


def _shape_options(command: F) -> F:
    """The options that describe one shape of node."""
    for option in (
        click.option("--taint", "taints", multiple=True, metavar="KEY=VALUE:EFFECT", help="Taint; repeatable."),
        click.option("--label", "labels", multiple=True, metavar="KEY=VALUE", help="Label; repeatable."),
        click.option(
            "--resource",
            "resources",
            multiple=True,
            metavar="NAME=QUANTITY",
            help="Further resource, such as nvidia.com/gpu=8; repeatable.",
        ),
        click.option("--pods", type=click.IntRange(0), default=110, show_default=True, help="Pods of each node."),
        click.option("--memory", default="256Gi", show_default=True, help="Memory of each node."),
        click.option("--cpu", default="32", show_default=True, help="Cores of each node."),
    ):
        command = option(command)
    return command


@click.group()
def sandbox() -> None:
    """Run a real local control plane without Docker.

    etcd, kube-apiserver, kube-controller-manager and kube-scheduler, with kwok playing the nodes. The first start
    builds the programs with Go, which takes minutes; later ones take seconds.

    \b
    Example:
      penstock sandbox up --nodes 20 --cpu 32 --memory 256Gi
      eval "$(penstock sandbox env)"
      kubectl get nodes
      penstock sandbox down
    """


sandbox.add_command(run)


@sandbox.command()
@kubernetes_option
@with_option
def build(kubernetes: str, operators: tuple[str, ...]) -> None:
    """Get or build the control plane's programs, so that the next `up` takes seconds.

    From KUBEBUILDER_ASSETS, else the cache, else with Go from source: minutes, once for each version.

    \b
    Example:
      penstock sandbox build
      penstock sandbox build --with ray,training
    """
    found = binaries.ensure(kubernetes=kubernetes, operators=operators)
    click.echo(f"the programs of the sandbox are in {Path(found['kube-apiserver']).parent}")
    for operator in chosen(operators):
        click.echo(f"{operator.title} is in {Path(found[operator.program]).parent}")


@sandbox.command()
@_name_option
@click.option("--nodes", type=click.IntRange(0), default=3, show_default=True, help="How many fake nodes.")
@_shape_options
@kubernetes_option
@with_option
@click.option("--audit", is_flag=True, help="Keep an audit log: writes to pods, requests of Penstock's webhook.")
@click.option("--feature-gates", "gates", multiple=True, metavar="GATE=BOOL[,...]", help="For all components.")
@click.option("--runtime-config", "runtime", multiple=True, metavar="API=BOOL[,...]", help="APIs of the apiserver.")
@click.option("--apiserver-flag", "flags", multiple=True, metavar="FLAG=VALUE", help="Further flag of the apiserver.")
@click.option("--foreground", is_flag=True, help="Stay, and end the sandbox on Ctrl-C.")
def up(
    name: str,
    nodes: int,
    kubernetes: str,
    operators: tuple[str, ...],
    gates: tuple[str, ...],
    runtime: tuple[str, ...],
    flags: tuple[str, ...],
    audit: bool,
    foreground: bool,
    **shape: Any,
) -> int:
    """Start a sandbox with fake nodes, and wait until pods can run.

    Running it again with the same options changes nothing. More shapes of nodes come with `penstock sandbox nodes add`.

    \b
    Example:
      penstock sandbox up --nodes 20 --cpu 32 --memory 256Gi --label tier=spot --taint spot=true:NoSchedule
      penstock sandbox up --name g --feature-gates GenericWorkload=true --runtime-config scheduling.k8s.io/v1beta1=true
      penstock sandbox up --name older --kubernetes 1.36.3 --with ray,training
    """
    spec = Spec(
        name=name,
        kubernetes=kubernetes,
        operators=operators,
        audit=audit,
        feature_gates=_pairs("--feature-gates", _split(gates)),
        runtime_config=_pairs("--runtime-config", _split(runtime)),
        apiserver_flags=_pairs("--apiserver-flag", flags),
    )
    with told_as_usage():
        check_spec(spec)
        shapes = [check_shape(_shape(_SHAPE, nodes, **shape))] if nodes else []
    if _is_up(spec):
        _tell_nodes(name, nodes)
        return 0
    # before any event loop runs, so that Ctrl-C ends a build at once
    binaries.ensure(kubernetes=kubernetes, operators=operators)
    return asyncio.run(_run_up(spec, shapes, foreground=foreground))


async def _run_up(spec: Spec, shapes: list[NodeShape], *, foreground: bool) -> int:
    # a terminal that closes or a service that stops ends us as Ctrl-C does, so that nothing stays half started
    task = asyncio.current_task()
    loop = asyncio.get_running_loop()
    if task is not None:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, task.cancel)
    started = clock.monotonic()
    try:
        made = await Sandbox.create(spec, shapes, tied=foreground)
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
    nodes, took = counted(sum(shape.count for shape in shapes), "node"), clock.monotonic() - started
    also = "".join(f", {operator.title}" for operator in chosen(spec.operators))
    click.echo(f"sandbox {spec.name!r} is up with {nodes}{also} at {made.url} after {took:.1f} s")
    if not foreground:
        click.echo(f'  use it:  eval "$(penstock sandbox env{_option(spec.name)})"')
        click.echo(f"  end it:  penstock sandbox down{_option(spec.name)}")
        return 0
    click.echo(f"  use it:  export KUBECONFIG={shlex.quote(str(made.kubeconfig))}")
    click.echo("  end it:  Ctrl-C")
    return await _stay(made)


async def _stay(made: Sandbox) -> int:
    """Wait for Ctrl-C, or for the sandbox to end by itself."""
    try:
        while (state := load_state(Layout(made.folder))) is not None and life.is_up(state):  # noqa: ASYNC110
            await asyncio.sleep(0.5)
    except asyncio.CancelledError:
        click.echo("ending the sandbox", err=True)
        return 0
    finally:
        await asyncio.shield(made.stop())
    if state is None or state.phase is Phase.STOPPING:
        click.echo(f"sandbox {made.name!r} was ended from elsewhere", err=True)
        return 0
    raise SandboxError(f"sandbox {made.name!r} ended: {life.first_line(state) or 'its supervisor died'}")


def _is_up(spec: Spec) -> bool:
    """Say so when it is up already; refuse when it is up with other settings."""
    layout = Layout.of(spec.name)
    state = load_state(layout)
    if state is None or not life.is_up(state):
        return False
    running = load_spec(layout)
    if spec != msgspec.structs.replace(running, binaries=spec.binaries):
        again = f"run `penstock sandbox down{_option(spec.name)}` first, or choose another --name"
        raise SandboxError(f"sandbox {spec.name!r} is up with other settings; {again}")
    click.echo(f"sandbox {spec.name!r} is already up at {state.url}; nothing changed")
    return True


def _tell_nodes(name: str, asked: int) -> None:
    """Say how many nodes there are where others were asked for, and how to get these."""
    # who names no number takes it as it is
    if click.get_current_context().get_parameter_source("nodes") is ParameterSource.DEFAULT:
        return
    there = asyncio.run(Sandbox.attach(name).count_nodes(_SHAPE))
    if there == asked:
        return
    verb, count = ("add", asked - there) if there < asked else ("remove", there - asked)
    click.echo(f"  it has {counted(there, 'node')} of shape {_SHAPE!r}, not {asked}; change that by:")
    click.echo(f"  penstock sandbox nodes {verb}{_option(name)} --shape {_SHAPE} --count {count}")


@sandbox.command()
@_name_option
@click.option("--all", "everything", is_flag=True, help="Stop all sandboxes.")
def down(name: str, everything: bool) -> None:
    """Stop a sandbox and delete its data.

    \b
    Example:
      penstock sandbox down
      penstock sandbox down --all
    """
    chosen = names() if everything else [name]
    for one in chosen:
        done = asyncio.run(life.remove(one))
        click.echo(f"sandbox {one!r} is gone" if done else f"there is no sandbox {one!r}; nothing to do")
    if not chosen:
        click.echo("there are no sandboxes; nothing to do")


@sandbox.command()
@click.option("--output", "-o", type=click.Choice(["table", "json"]), default="table", show_default=True)
def status(output: str) -> None:
    """Show all sandboxes, and the health of their components.

    \b
    Example:
      penstock sandbox status
      penstock sandbox status --output json
    """
    reports = asyncio.run(gather())
    if output == "json":
        show_json(reports)
    else:
        show_table(reports)


@sandbox.command()
@_name_option
def env(name: str) -> None:
    """Print the shell command that selects a sandbox.

    \b
    Example:
      eval "$(penstock sandbox env)"
    """
    made = Sandbox.attach(name)
    click.echo(f"export KUBECONFIG={shlex.quote(str(made.kubeconfig))}")
    if sys.stdout.isatty():
        click.echo(f'# for your shell:  eval "$(penstock sandbox env{_option(name)})"', err=True)


@sandbox.group()
def nodes() -> None:
    """Add fake nodes to a running sandbox, or remove them.

    \b
    Example:
      penstock sandbox nodes add --shape spot --count 10 --cpu 8 --memory 32Gi --label tier=spot
      penstock sandbox nodes remove --shape spot --count 2
    """


@nodes.command()
@_name_option
@click.option("--shape", "shape_name", default=_SHAPE, show_default=True, help="Nodes are named SHAPE-0, SHAPE-1, ...")
@click.option("--count", type=click.IntRange(1), default=1, show_default=True, help="How many.")
@_shape_options
def add(name: str, shape_name: str, count: int, **shape: Any) -> None:
    """Add nodes of one shape, and wait until pods can run on them.

    \b
    Example:
      penstock sandbox nodes add --shape gpu --count 4 --cpu 96 --resource nvidia.com/gpu=8
    """
    with told_as_usage():
        wanted = check_shape(_shape(shape_name, count, **shape))
    added = asyncio.run(Sandbox.attach(name).add_nodes(wanted))
    click.echo(f"added {len(added)} nodes: {added[0]} to {added[-1]}" if len(added) > 1 else f"added node {added[0]}")


@nodes.command()
@_name_option
@click.option("--shape", "shape_name", required=True, help="Which nodes.")
@click.option("--count", type=click.IntRange(1), help="How many, from the highest number down; all if not given.")
def remove(name: str, shape_name: str, count: int | None) -> None:
    """Delete nodes of one shape, with the pods on them.

    \b
    Example:
      penstock sandbox nodes remove --shape spot --count 2
    """
    removed = asyncio.run(Sandbox.attach(name).remove_nodes(shape_name, count))
    click.echo(f"removed from shape {shape_name!r}: {len(removed)}")


def _shape(
    name: str,
    count: int,
    *,
    cpu: str,
    memory: str,
    pods: int,
    resources: tuple[str, ...],
    labels: tuple[str, ...],
    taints: tuple[str, ...],
) -> NodeShape:
    return NodeShape(
        name=name,
        count=count,
        cpu=cpu,
        memory=memory,
        pods=pods,
        resources=_pairs("--resource", resources),
        labels=_pairs("--label", labels),
        taints=taints,
    )


def _split(values: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(part for value in values for part in value.split(",") if part)


def _pairs(option: str, values: tuple[str, ...]) -> dict[str, str]:
    pairs = {}
    for text in values:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise click.UsageError(f"{option} {text!r}: write NAME=VALUE")
        pairs[key] = value
    return pairs


def _option(name: str) -> str:
    return "" if name == DEFAULT_NAME else f" --name {name}"
