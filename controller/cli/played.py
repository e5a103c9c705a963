"""The world that a command plays forward, from a file or a cluster, and faults in playing it as one line."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from controller.cli.snapshot_input import read_cluster, read_file
from controller.kube.errors import one_line
from controller.replay.snapshot_file import Saved
from controller.simulator.rest import RestlessError
from controller.simulator.world import World, world_of


def saved_world(file: str | None, kubeconfig: str | None, context: str | None, depth: int) -> World:
    """Return the world of a file, or where there is none of the cluster. Raises ClickException and KubeError."""
    if file is None:
        recorded = read_cluster(kubeconfig, context, depth)
        return world_of(Saved(recorded.snapshot, recorded.written))
    saved = read_file(file)
    if saved.written is None:
        click.echo(f"{file}: is of version 1: windows of queues are taken to stay as they were", err=True)
    return world_of(saved)


@contextmanager
def playable() -> Iterator[None]:
    """Say on one line what fails and where: files may have been written by hand. Raises ClickException."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, RestlessError, TypeError, ValueError) as error:
        *_, last = traceback.extract_tb(error.__traceback__)
        told = f"{type(error).__name__}: {one_line(error)} ({Path(last.filename).name}, line {last.lineno})"
        raise click.ClickException(
            f"the queues cannot be played forward: {told}; the file contradicts itself, or else Penstock is at "
            "fault: report it, with the file of `penstock snapshot`"
        ) from None
