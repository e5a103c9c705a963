"""In whose name a command acts, and in which cluster: the options, and the client that they make."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import click

from controller.kube import config
from controller.kube.client import ActingAs, Client
from controller.telemetry.program import connection_options

_F = TypeVar("_F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Where:
    """Which cluster, and in whose name."""

    kubeconfig: str | None
    context: str | None
    acting_as: ActingAs | None

    async def connect(self) -> Client:
        """Return a client, to be opened."""
        settings = await config.load(self.kubeconfig, self.context)
        return Client(settings, user_agent="penstock-cli", acting_as=self.acting_as)


def acting_options(command: _F) -> _F:
    """Add --as, --as-group, --kubeconfig and --context."""
    command = connection_options(command)
    member = "Act as a member; repeatable; with --as."
    command = click.option("--as-group", "groups", metavar="GROUP", multiple=True, help=member)(command)
    user = "Act as this user, with the user's rights; needs the right to."
    return click.option("--as", "user", metavar="NAME", help=user)(command)


def acting_as(user: str | None, groups: tuple[str, ...]) -> ActingAs | None:
    """Return who is meant; None: who is asking."""
    if groups and not user:
        raise click.UsageError("--as-group needs --as NAME too: Kubernetes takes groups only along with a user")
    return ActingAs(user, groups) if user else None
