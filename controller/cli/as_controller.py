"""Options of the controller that commands which decide by themselves have too: nothing in a cluster says them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any

import click

from controller.core.forecasts.forecast import USUAL_DEPTH
from controller.core.kubernetes.quota_resources import AS_REQUESTED, QuotaResources
from controller.objects.quota_resources_option import QuotaResourcesFile

OPTIONS = ("backfill_depth", "quota_resources")
"""Parameters of a command that has these options."""


@dataclass(frozen=True, slots=True)
class AsController:
    """What they come to."""

    depth: int = USUAL_DEPTH
    resources: QuotaResources = AS_REQUESTED


def controller_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add --backfill-depth and --quota-resources; the command gets what they come to as `as_controller`."""

    @wraps(command)
    def with_options(*, backfill_depth: int, quota_resources: QuotaResources | None, **options: Any) -> None:
        return command(as_controller=AsController(backfill_depth, quota_resources or AS_REQUESTED), **options)

    found = click.option(
        "--quota-resources",
        metavar="FILE",
        type=QuotaResourcesFile(),
        help="The controller's option of this name: which resources quota counts.",
    )(with_options)
    return click.option(
        "--backfill-depth",
        type=click.IntRange(1, 64),
        default=USUAL_DEPTH,
        show_default=True,
        help="The controller's option of this name: how many workloads of Backfill queues have a reservation.",
    )(found)
