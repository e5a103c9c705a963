"""`python -m controller`: the controller's options."""

from __future__ import annotations

import click

from controller.runtime.app import Settings, run
from controller.telemetry.http import Address
from controller.telemetry.logs import LogFormat, LogLevel
from controller.telemetry.program import CONTEXT_SETTINGS, AddressType, connection_options, log_options, run_program


@click.command(name="python -m controller", context_settings=CONTEXT_SETTINGS)
@connection_options
@click.option("--http-address", type=AddressType(), default="127.0.0.1:8080", help="Where health and metrics listen.")
@click.option("--workers", type=click.IntRange(1, 512), default=32, help="Release patches under way at most.")
@log_options
def main(
    *,
    kubeconfig: str | None,
    context: str | None,
    http_address: Address,
    workers: int,
    log_level: LogLevel,
    log_format: LogFormat,
) -> None:
    """Release queued pods as quota and capacity allow.

    Every option can be given as an environment variable, such as PENSTOCK_WORKERS.
    """
    settings = Settings(kubeconfig=kubeconfig, context=context, address=http_address, workers=workers)
    run_program(run(settings), level=log_level, form=log_format)


if __name__ == "__main__":
    main()
