"""The options of `penstock sandbox` are checked here: what is wrong with one is wrong usage, not a sandbox's fault."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import click

from controller.sandbox import SandboxError
from controller.sandbox.spec import check_name

DEFAULT_NAME = "default"


@contextmanager
def told_as_usage() -> Iterator[None]:
    """Tell a SandboxError about an option's value as click tells of others: exit code 2, where 1 is a fault."""
    try:
        yield
    except SandboxError as error:
        raise click.UsageError(str(error)) from None


def sandbox_name(_: click.Context, __: click.Parameter, name: str) -> str:
    """Check --name."""
    with told_as_usage():
        return check_name(name)
