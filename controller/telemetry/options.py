"""The options by which a program or command is told which cluster it is about; they cost no other import."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

_F = TypeVar("_F", bound=Callable[..., Any])


def connection_options(command: _F) -> _F:
    """Add --kubeconfig and --context."""
    where = "Kubeconfig; default: $KUBECONFIG, else the pod's service account, else ~/.kube/config."
    command = click.option("--context", metavar="NAME", help="Context of the kubeconfig; default: its current one.")(
        command
    )
    return click.option("--kubeconfig", metavar="FILE", help=where)(command)
