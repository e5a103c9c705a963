"""In whose name a command acts, and in which cluster: the options, and the client that they make."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any

import click

from controller.kube import config
from controller.kube.client import Client
from controller.kube.connection import ActingAs
from controller.telemetry.options import connection_options


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


def acting_options(command: Callable[..., int]) -> Callable[..., int]:
    """Add --as, --as-group, --kubeconfig and --context; the command gets what they come to as `where`."""

    @wraps(command)
    def with_where(
        *, user: str | None, groups: tuple[str, ...], kubeconfig: str | None, context: str | None, **options: Any
    ) -> int:
        return command(where=Where(kubeconfig, context, _acting_as(user, groups)), **options)

    found = connection_options(with_where)
    member = "Act as a member of this group; repeatable; only with --as."
    found = click.option("--as-group", "groups", metavar="GROUP", multiple=True, help=member)(found)
    acts = "Act as this user, with the user's rights; you need the right to impersonate."
    return click.option("--as", "user", metavar="NAME", help=acts)(found)


def _acting_as(user: str | None, groups: tuple[str, ...]) -> ActingAs | None:
    if groups and not user:
        raise click.UsageError("--as-group needs --as NAME too: Kubernetes takes groups only along with a user")
    return ActingAs(user, groups) if user else None
