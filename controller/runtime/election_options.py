"""The options that say by which Lease the controller leads."""

from __future__ import annotations

import platform
import uuid
from collections.abc import Callable
from functools import wraps
from typing import Any, Final

import click

from controller.kube.lease import Election

_LEASE: Final = "penstock-controller"


def election_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add --identity, --lease-namespace and --lease-seconds; the command gets what they come to as `election`."""

    @wraps(command)
    def with_election(*, identity: str, lease_namespace: str, lease_seconds: int, **options: Any) -> None:
        # no other process has this identity, nor has this container when it is started again
        own = f"{identity}_{uuid.uuid4()}"
        election = Election(namespace=lease_namespace, name=_LEASE, identity=own, seconds=lease_seconds)
        command(election=election, **options)

    found = click.option("--lease-seconds", type=click.IntRange(2, 300), default=10, help="How long a Lease holds.")(
        with_election
    )
    found = click.option(
        "--lease-namespace", default="penstock-system", help="Namespace of the Lease penstock-controller."
    )(found)
    return click.option(
        "--identity",
        default=platform.node,
        show_default="host name",
        help="Name of this process in the Lease; each process adds an identifier of its own.",
    )(found)
