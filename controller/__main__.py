"""`python -m controller`: the controller's options."""

from __future__ import annotations

import platform
import uuid

import click

from controller.core.world.forecast import USUAL_DEPTH
from controller.core.world.kept_places import KEPT
from controller.kube.lease import Election
from controller.runtime.app import Settings, run
from controller.telemetry.http import Address
from controller.telemetry.logs import LogFormat, LogLevel
from controller.telemetry.program import CONTEXT_SETTINGS, AddressType, connection_options, log_options, run_program

_LEASE = "penstock-controller"


def _identity(name: str) -> str:
    """Return an identity that no other process has, nor this container when it is started again."""
    return f"{name}_{uuid.uuid4()}"


@click.command(name="python -m controller", context_settings=CONTEXT_SETTINGS)
@connection_options
@click.option("--http-address", type=AddressType(), default="127.0.0.1:8080", help="Where health and metrics listen.")
@click.option("--workers", type=click.IntRange(1, 512), default=32, help="Release patches under way at most.")
@click.option(
    "--backfill-depth",
    type=click.IntRange(1, 64),
    default=USUAL_DEPTH,
    help="Workloads of Backfill queues that have a reservation at a time, at most.",
)
@click.option(
    "--keep-gang-places",
    type=click.IntRange(0, 3600),
    default=KEPT,
    help="Seconds for which the place of a gang member is kept that is made anew; 0: not at all.",
)
@click.option(
    "--identity",
    default=platform.node,
    show_default="host name",
    help="Who we are in the Lease; each process adds an identifier of its own.",
)
@click.option("--lease-namespace", default="penstock-system", help="Namespace of the Lease penstock-controller.")
@click.option("--lease-seconds", type=click.IntRange(2, 300), default=15, help="How long a Lease holds.")
@log_options
def main(
    *,
    kubeconfig: str | None,
    context: str | None,
    http_address: Address,
    workers: int,
    backfill_depth: int,
    keep_gang_places: int,
    identity: str,
    lease_namespace: str,
    lease_seconds: int,
    log_level: LogLevel,
    log_format: LogFormat,
) -> None:
    """Release queued pods as quota and capacity allow.

    Any number may run: the one that holds the Lease works, the others stand by.

    Every option can be given as an environment variable, such as PENSTOCK_WORKERS.
    """
    election = Election(namespace=lease_namespace, name=_LEASE, identity=_identity(identity), seconds=lease_seconds)
    settings = Settings(
        kubeconfig=kubeconfig,
        context=context,
        address=http_address,
        workers=workers,
        backfill_depth=backfill_depth,
        keeps_places=keep_gang_places,
        election=election,
    )
    run_program(run(settings), level=log_level, form=log_format)


if __name__ == "__main__":
    main()
