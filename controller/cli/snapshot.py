"""`penstock snapshot`: asks, writes the file, and says what is in it. What is read is `replay.recording`'s business."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from controller.cli.as_controller import AsController, controller_options
from controller.cli.counts import counted
from controller.cli.snapshot_input import read_cluster
from controller.core.snapshot import Snapshot
from controller.kube.errors import one_line
from controller.replay.packing import packed
from controller.replay.snapshot_file import to_bytes
from controller.telemetry.options import connection_options

_STDOUT = "-"


@click.command()
@click.option("-o", "--output", metavar="FILE", help="Where to write; compressed if the name ends in .gz; - is stdout.")
@controller_options
@connection_options
def snapshot(output: str | None, as_controller: AsController, kubeconfig: str | None, context: str | None) -> None:
    """Save what a decision would see now: queues, flavors, nodes, and pods as far as the queues look at them.

    Every kind is listed once; nothing is written to the cluster. `penstock replay` decides on the file. The file names
    namespaces, pods, the users who created them, and nodes; it has no images, environment variables or secrets of pods.

    The file lacks what only a running controller remembers: refused releases, evictions that were refused a moment ago,
    members that gangs have lost, and flavors in which recreated pods found no node.

    Exit code: 0 saved, 1 the cluster does not show all of it or the file cannot be written, 130 interrupted.

    \b
    Example:
      penstock snapshot -o now.json.gz
      penstock snapshot | penstock replay -
    """
    target = _target(output)
    recorded = read_cluster(kubeconfig, context, as_controller)
    data = to_bytes(recorded.snapshot, recorded.written)
    if target is None:
        click.echo(data, nl=False)
    else:
        data = packed(data) if target.suffix == ".gz" else data
        _write(target, data)
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


def _write(target: Path, data: bytes) -> None:
    try:
        target.write_bytes(data)
    except OSError as error:
        raise click.ClickException(f"{target}: cannot be written: {one_line(error)}") from None


def _told(saved: Snapshot) -> str:
    waiting = sum(len(one.pods) for run in saved.waiting.runs.values() for one in run)
    queues = counted(len(saved.queues.cluster_queues), "ClusterQueue")
    pods, nodes = counted(len(saved.running.pods), "pod"), counted(len(saved.nodes.index.nodes), "node")
    return f"{pods} ({waiting} waiting), {queues}, {nodes}"
