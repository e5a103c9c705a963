"""`penstock snapshot`: asks, writes the file, and says what is in it. What is read is `replay.recording`'s business."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import click
from rich.console import Console

from controller.cli.counts import counted
from controller.core.reasons import first_few
from controller.core.world.forecast import USUAL_DEPTH
from controller.core.world.snapshot import Snapshot
from controller.kube import config
from controller.kube.client import Client
from controller.kube.errors import one_line
from controller.replay.packing import packed
from controller.replay.recording import Recorded, record
from controller.replay.snapshot_file import to_bytes
from controller.telemetry.program import connection_options

_STDOUT = "-"
_TOLD = 3


@click.command()
@click.option("-o", "--output", metavar="FILE", help="Where to write; packed where it ends in .gz; - is stdout.")
@click.option(
    "--backfill-depth",
    type=click.IntRange(1, 64),
    default=USUAL_DEPTH,
    show_default=True,
    help="As the controller has it: reservations of Backfill queues at a time.",
)
@connection_options
def snapshot(output: str | None, backfill_depth: int, kubeconfig: str | None, context: str | None) -> None:
    """Save what a decision would see now: queues, flavors, nodes, and pods as far as the queues look at them.

    Every kind is listed once; nothing is written to the cluster. `penstock replay` decides on the file. It names
    namespaces, pods, who made them, and nodes; it has no images, environment or secrets of pods.

    What only the memory of a running controller has is left out: releases that were refused, evictions that were
    refused a moment ago, members that gangs have lost, and flavors in which pods that came back found no node.

    Exit code: 0 saved, 1 the cluster does not show all of it or the file cannot be written, 130 interrupted.

    \b
    Example:
      penstock snapshot -o now.json.gz
      penstock snapshot | penstock replay -
    """
    target = _target(output)
    recorded = asyncio.run(_record(kubeconfig, context, backfill_depth))
    data = to_bytes(recorded.snapshot)
    if target is None:
        click.echo(data, nl=False)
    else:
        data = packed(data) if target.suffix == ".gz" else data
        _write(target, data)
    if recorded.unreadable:
        click.echo(f"left out, since they cannot be read: {first_few(recorded.unreadable, _TOLD)}", err=True)
    click.echo(f"saved {_told(recorded.snapshot)}: {len(data)} bytes", err=True)


def _target(output: str | None) -> Path | None:
    """Return where to write, None for stdout. Told before the cluster is asked, which may take long."""
    if output is None and sys.stdout.isatty():
        raise click.UsageError("a snapshot is nothing to read on a terminal: name a file with -o FILE, or pipe it on")
    if output in (None, _STDOUT):
        return None
    target = Path(output or "")
    # not by pathlib, which raises for names that no file can have
    if os.path.isdir(target):
        raise click.ClickException(f"{target}: is a directory; name a file in it")
    if not os.path.isdir(target.parent):
        raise click.ClickException(f"{target}: there is no directory {target.parent}")
    return target


async def _record(kubeconfig: str | None, context: str | None, backfill_depth: int) -> Recorded:
    async with Client(await config.load(kubeconfig, context), user_agent="penstock-cli") as client:
        # on a terminal alone: elsewhere nobody waits for it
        with Console(stderr=True).status("Reading the cluster"):
            return await record(client, backfill_depth=backfill_depth)


def _write(target: Path, data: bytes) -> None:
    try:
        target.write_bytes(data)
    except OSError as error:
        raise click.ClickException(f"{target}: cannot be written: {one_line(error)}") from None


def _told(saved: Snapshot) -> str:
    waiting = sum(len(one.pods) for run in saved.runs.values() for one in run)
    queues = counted(len(saved.cluster_queues), "ClusterQueue")
    return f"{counted(len(saved.pods), 'pod')} ({waiting} waiting), {queues}, {counted(len(saved.nodes.nodes), 'node')}"
