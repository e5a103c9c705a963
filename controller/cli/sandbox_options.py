"""The options of `penstock sandbox` are checked here: what is wrong with one is wrong usage, not a sandbox's fault."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import click

from controller.sandbox import SandboxError
from controller.sandbox.spec import check_name
from controller.sandbox.versions import DEFAULT, VERSIONS

DEFAULT_NAME = "default"

F = TypeVar("F", bound=Callable[..., Any])


@contextmanager
def told_as_usage() -> Iterator[None]:
    """Tell a SandboxError about an option's value as click tells of others: exit code 2, where 1 is a fault."""
    try:
        yield
    except SandboxError as error:
        raise click.UsageError(str(error)) from None


def name_option(text: str) -> Callable[[F], F]:
    """Add --name; `text` is what its help says."""
    return click.option("--name", default=DEFAULT_NAME, show_default=True, metavar="NAME", callback=_checked, help=text)


kubernetes_option = click.option(
    "--kubernetes",
    type=click.Choice(VERSIONS),
    default=DEFAULT,
    show_default=True,
    metavar="VERSION",
    help=f"Which Kubernetes: {' or '.join(VERSIONS)}.",
)


def _checked(_: click.Context, __: click.Parameter, name: str) -> str:
    with told_as_usage():
        return check_name(name)
