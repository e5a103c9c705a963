"""--backfill-depth, for commands that decide by themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from controller.core.forecasts.forecast import USUAL_DEPTH

_F = TypeVar("_F", bound=Callable[..., Any])


def depth_option(command: _F) -> _F:
    """Add --backfill-depth: nothing in a cluster says it."""
    return click.option(
        "--backfill-depth",
        type=click.IntRange(1, 64),
        default=USUAL_DEPTH,
        show_default=True,
        help="The controller's option of this name: how many workloads of Backfill queues have a reservation.",
    )(command)
