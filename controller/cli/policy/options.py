"""Options that the commands of `penstock policy` share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from controller.core.names import is_dns_subdomain

_F = TypeVar("_F", bound=Callable[..., Any])


def class_name(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Check the name of a RuntimeClass, as the webhook checks its option."""
    if value is not None and not is_dns_subdomain(value):
        raise click.BadParameter(f"{value!r} cannot be the name of a RuntimeClass", ctx=ctx, param=param)
    return value


def objects_option(command: _F) -> _F:
    """Add --objects."""
    return click.option(
        "--objects",
        multiple=True,
        metavar="FILE|DIR",
        type=click.Path(exists=True, path_type=Path),
        help="Policies, namespaces, RuntimeClasses and LocalQueues from files instead of a cluster; can be repeated.",
    )(command)


def webhook_options(command: _F) -> _F:
    """Add those options of the webhook that decide over pods."""
    command = click.option(
        "--default-runtime-class",
        metavar="NAME",
        callback=class_name,
        help="As the webhook has it; implies --runtime-classes.",
    )(command)
    return click.option("--runtime-classes", is_flag=True, help="As the webhook has it: its RuntimeClass step is on.")(
        command
    )
