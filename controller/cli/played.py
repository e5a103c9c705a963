"""The world that a command plays forward, from a file or a cluster, and faults in playing it as one line."""

from __future__ import annotations

import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click
from rich.console import Console
from rich.progress import Progress

from controller.cli.as_controller import AsController
from controller.cli.snapshot_input import read_cluster, read_file
from controller.kube.errors import one_line
from controller.replay.snapshot_file import Saved
from controller.simulator.rest import RestlessError
from controller.simulator.world import World, world_of


def saved_world(file: str | None, kubeconfig: str | None, context: str | None, as_controller: AsController) -> World:
    """Return the world of a file, or where there is none of the cluster. Raises ClickException and KubeError."""
    if file is None:
        recorded = read_cluster(kubeconfig, context, as_controller)
        return world_of(Saved(recorded.snapshot, recorded.written))
    saved = read_file(file)
    if saved.written is None:
        click.echo(f"{file}: is of version 1: windows of queues are taken to stay as they were", err=True)
    return world_of(saved)


def play(runs: int, simulations: Iterable[Iterable[float]]) -> None:
    """Make so many simulations, or until Ctrl-C, with a progress bar on a terminal alone.

    Each yields which part of it is done. Raises KeyboardInterrupt where none came to its end, and ClickException.
    """
    done = 0
    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress, _telling_faults():
        task = progress.add_task("Simulating", total=runs)
        try:
            for one in simulations:
                for part in one:
                    progress.update(task, completed=done + part)
                done += 1
                progress.update(task, completed=done)
        except KeyboardInterrupt:
            if not done:
                raise
    if done < runs:
        click.echo(f"interrupted after {done} of {runs} simulations", err=True)


@contextmanager
def _telling_faults() -> Iterator[None]:
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
