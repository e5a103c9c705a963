"""`python -m controller`: the controller's options."""

from __future__ import annotations

from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from controller.core.forecasts.forecast import USUAL_DEPTH
from controller.core.kubernetes.quota_resources import AS_REQUESTED, QuotaResources
from controller.core.workloads.kept_places import KEPT
from controller.kube.lease import Election
from controller.objects.quota_resources_option import QuotaResourcesFile
from controller.runtime.app import run
from controller.runtime.election_options import election_options
from controller.runtime.history_lane import History
from controller.runtime.history_options import history_options
from controller.runtime.observing.shadow import run_shadow
from controller.runtime.settings import Settings
from controller.telemetry.http import Address
from controller.telemetry.logs import LogFormat, LogLevel
from controller.telemetry.options import connection_options
from controller.telemetry.program import CONTEXT_SETTINGS, AddressType, log_options, run_program

_OF_LEADERS = (
    "identity",
    "lease_namespace",
    "lease_seconds",
    "visibility_address",
    "forecast_percent",
    "history",
    "history_days",
    "notifications",
)
"""Options that mean nothing to a shadow, which takes no Lease, serves no API, keeps no history and notifies nobody."""


def _program(context: click.Context, settings: Settings, *, observe: bool) -> Coroutine[Any, Any, None]:
    """Return what runs. Raises UsageError where an option is given that it would ignore."""
    if not observe:
        if settings.visibility is None and settings.notifications is None and _is_given(context, "forecast_percent"):
            raise click.UsageError(
                "--forecast-percent (or PENSTOCK_FORECAST_PERCENT) needs --visibility-address, whose API shows "
                "forecasts, or --notifications, which tell who is late"
            )
        return run(settings)
    for one in context.command.params:
        if one.name in _OF_LEADERS and _is_given(context, one.name):
            variable = f"PENSTOCK_{one.name.upper()}"
            raise click.UsageError(
                f"{one.opts[0]} (or {variable}) and --observe exclude each other: a shadow takes no Lease,"
                " serves no visibility API, keeps no history and notifies nobody; leave it out"
            )
    return run_shadow(settings)


def _is_given(context: click.Context, name: str) -> bool:
    return context.get_parameter_source(name) in (ParameterSource.COMMANDLINE, ParameterSource.ENVIRONMENT)


@click.command(name="python -m controller", context_settings=CONTEXT_SETTINGS)
@connection_options
@click.option("--http-address", type=AddressType(), default="127.0.0.1:8080", help="Where health and metrics listen.")
@click.option(
    "--workers", type=click.IntRange(1, 512), default=32, help="How many release patches are sent at a time, at most."
)
@click.option(
    "--backfill-depth",
    type=click.IntRange(1, 64),
    default=USUAL_DEPTH,
    help="How many workloads of Backfill queues have a reservation at a time, at most.",
)
@click.option(
    "--keep-gang-places",
    type=click.IntRange(0, 3600),
    default=KEPT,
    help="For how many seconds a gang keeps the place of a member that its owner recreates; 0: not at all.",
)
@election_options
@click.option(
    "--visibility-address",
    type=AddressType(),
    help="Where the API visibility.penstock.dev listens for the apiserver; default: the API is not served.",
)
@click.option(
    "--forecast-percent",
    type=click.IntRange(0, 100),
    default=10,
    help="How many percent of one core forecasts of starts may take; 0: no forecasts. They are made for the API at "
    "--visibility-address, and for --notifications of late workloads.",
)
@history_options
@click.option(
    "--notifications",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    show_default="none",
    help="File that says who is notified of what happens to workloads and budgets; it is read again when it changes.",
)
@click.option(
    "--quota-resources",
    metavar="FILE",
    type=QuotaResourcesFile(),
    show_default="none",
    help="File that says which resources quota counts, and what others are counted as.",
)
@click.option(
    "--record-decisions",
    type=click.Path(dir_okay=False, path_type=Path),
    show_default="none",
    help="File to write decisions into, for penstock replay; it slows decisions down.",
)
@click.option("--record-most", type=click.IntRange(1), default=1000, help="How many decisions to write, at most.")
@click.option(
    "--observe",
    is_flag=True,
    help="Run as a shadow: take no Lease, write nothing, decide as the leader does, and count the differences.",
)
@log_options
def main(
    *,
    kubeconfig: str | None,
    context: str | None,
    http_address: Address,
    workers: int,
    backfill_depth: int,
    keep_gang_places: int,
    election: Election,
    record_decisions: Path | None,
    record_most: int,
    visibility_address: Address | None,
    forecast_percent: int,
    history: History | None,
    notifications: Path | None,
    quota_resources: QuotaResources | None,
    observe: bool,
    log_level: LogLevel,
    log_format: LogFormat,
) -> None:
    """Release queued pods as quota and capacity allow. Any number may run: one holds the Lease, the others stand by.
    Every option can be given as an environment variable, such as PENSTOCK_WORKERS.
    """
    settings = Settings(
        kubeconfig=kubeconfig,
        context=context,
        address=http_address,
        visibility=visibility_address,
        workers=workers,
        backfill_depth=backfill_depth,
        keeps_places=keep_gang_places,
        election=election,
        record=record_decisions,
        record_most=record_most,
        forecast_share=forecast_percent / 100 if visibility_address or notifications else 0.0,
        history=history,
        notifications=notifications,
        resources=quota_resources or AS_REQUESTED,
    )
    run_program(_program(click.get_current_context(), settings, observe=observe), level=log_level, form=log_format)


if __name__ == "__main__":
    main()
