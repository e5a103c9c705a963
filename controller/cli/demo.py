"""`penstock demo`: reads the command line, minds signals, and turns the result into an exit code."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from controller.cli.main import EXIT_FAULT
from controller.dashboard.files import NotBuilt
from controller.demo import in_cluster, in_sandbox
from controller.demo.errors import DemoError
from controller.demo.report import Report
from controller.demo.summary import Result
from controller.sandbox import binaries

_PODS_IN_SANDBOX = 300
_PODS_IN_CLUSTER = 100


@click.command()
@click.option(
    "--kubeconfig", metavar="FILE", help="Use this cluster instead of a sandbox; everything created there is removed."
)
@click.option(
    "--pods",
    type=click.IntRange(1, 5000),
    metavar="N",
    help=f"How many pods; {_PODS_IN_SANDBOX} in a sandbox and {_PODS_IN_CLUSTER} on a cluster if not given.",
)
@click.option("--seed", type=int, default=1, show_default=True, help="The same seed makes the same pods.")
@click.option(
    "--page", "with_page", is_flag=True, help="Open the page in a browser, and keep the sandbox until Ctrl-C."
)
def demo(kubeconfig: str | None, pods: int | None, seed: int, with_page: bool) -> int:
    """Show how Penstock lets two teams share spot and on-demand nodes, and borrow quota from each other.

    Starts a real control plane with fake nodes, installs Penstock, creates pods of two teams, and shows live how their
    queues drain, who borrows, and why pods wait. Pods use spot nodes first, then on-demand nodes, and the team with
    more work than quota borrows what the other does not use. It takes about a minute and a half, and the first time
    some minutes more to build the control plane. Ctrl-C ends it at any time; nothing is left behind.

    \b
    Example:
      penstock demo
      penstock demo --pods 1000 --seed 7
      penstock demo --page
      penstock demo --kubeconfig ~/.kube/config
    """
    if with_page and kubeconfig is not None:
        raise click.UsageError(
            "--page is for the sandbox of the demo; on a cluster of yours use: penstock dashboard --kubeconfig FILE"
        )
    report = Report(Console(), _program())
    if kubeconfig is None:
        report.step("Looking for the programs of a Kubernetes control plane; what is missing is built once, with Go")
        # before any event loop runs, so that Ctrl-C ends a build at once
        binaries.ensure()
        work = in_sandbox.run(report, pods=pods or _PODS_IN_SANDBOX, seed=seed, with_page=with_page)
        following = in_sandbox.NEXT
    else:
        work = in_cluster.run(report, kubeconfig=kubeconfig, pods=pods or _PODS_IN_CLUSTER, seed=seed)
        following = in_cluster.NEXT
    try:
        result = asyncio.run(_interruptible(work))
    except (DemoError, NotBuilt) as error:
        raise click.ClickException(str(error)) from None
    shortcomings = result.shortcomings()
    if shortcomings:
        click.echo(f"Error: of {result.expected} pods, {'; '.join(shortcomings)}", err=True)
        return EXIT_FAULT
    report.next(following)
    return 0


def _program() -> str:
    """How the user can call us from where they are: `make demo` works without anything on PATH."""
    if shutil.which("penstock"):
        return "penstock"
    beside = Path(sys.executable).with_name("penstock")
    return os.path.relpath(beside) if beside.exists() else f"{os.path.relpath(sys.executable)} -m controller.cli"


async def _interruptible(work: Coroutine[Any, Any, Result]) -> Result:
    """Await `work`; a signal cancels it once, and further ones do not disturb its cleaning up."""
    task = asyncio.current_task()
    loop = asyncio.get_running_loop()
    stopping = asyncio.Event()

    def stop() -> None:
        if task is not None and not stopping.is_set():
            stopping.set()
            task.cancel()

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, stop)
    try:
        return await work
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
