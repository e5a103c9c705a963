"""A snapshot for a command: from a file, plain or packed, from stdin, or from a cluster. Faults become one line."""

from __future__ import annotations

import asyncio
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click
from rich.console import Console

from controller.cli.as_controller import AsController
from controller.core.reasons import first_few
from controller.kube import config
from controller.kube.client import Client
from controller.kube.errors import one_line
from controller.replay.packing import unpacked
from controller.replay.recording import Recorded, record
from controller.replay.snapshot_file import Saved, SnapshotFileError, read_saved

_F = TypeVar("_F", bound=Callable[..., Any])
_STDIN = "-"
_TOLD = 3


def read_data(file: str) -> bytes:
    """Read a file, packed or plain, - for stdin. Raises ClickException."""
    try:
        data = sys.stdin.buffer.read() if file == _STDIN else Path(file).read_bytes()
    except OSError as error:
        raise click.ClickException(f"{file}: cannot be read: {error.strerror or one_line(error)}") from None
    with refusing(file):
        found = unpacked(data)
        if not found:
            raise SnapshotFileError("is empty; `penstock snapshot` writes what belongs there")
        return found


def read_file(file: str) -> Saved:
    """Read a file of `penstock snapshot`, - for stdin. Raises ClickException."""
    data = read_data(file)
    with refusing(file):
        return read_saved(data)


@contextmanager
def refusing(file: str) -> Iterator[None]:
    """Turn what keeps a file from being read into one line. Raises ClickException."""
    try:
        yield
    except SnapshotFileError as error:
        raise click.ClickException(f"{'stdin' if file == _STDIN else file}: {one_line(error)}") from None


@contextmanager
def telling_faults(file: str) -> Iterator[None]:
    """Turn what fails on a file into one line that says where: files may have been written by hand."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        *_, last = traceback.extract_tb(error.__traceback__)
        told = f"{type(error).__name__}: {one_line(error)} ({Path(last.filename).name}, line {last.lineno})"
        raise click.ClickException(
            f"{file}: cannot be decided on: {told}; the file contradicts itself, or else Penstock is at fault: "
            "report it, with the file"
        ) from None


def read_cluster(kubeconfig: str | None, context: str | None, as_controller: AsController) -> Recorded:
    """List a cluster, and tell on stderr what of it cannot be read. Raises KubeError."""
    recorded = asyncio.run(_record(kubeconfig, context, as_controller))
    if recorded.unreadable:
        click.echo(f"left out, since they cannot be read: {first_few(recorded.unreadable, _TOLD)}", err=True)
    return recorded


async def _record(kubeconfig: str | None, context: str | None, as_controller: AsController) -> Recorded:
    async with Client(await config.load(kubeconfig, context), user_agent="penstock-cli") as client:
        # on a terminal alone: elsewhere nobody waits for it
        with Console(stderr=True).status("Reading the cluster"):
            return await record(client, backfill_depth=as_controller.depth, resources=as_controller.resources)
