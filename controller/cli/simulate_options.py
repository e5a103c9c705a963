"""Where `penstock simulate` simulates: what its options and FILE come to."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from controller.cli.asking import Source, is_given
from controller.cli.backfill_depth import depth_option
from controller.cli.visibility_client import WITHOUT_API
from controller.telemetry.options import connection_options


def source_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add [FILE], --backfill-depth, --kubeconfig and --context; the command gets what they come to as `source`."""

    @wraps(command)
    def with_source(
        *,
        file: str | None,
        kubeconfig: str | None,
        context: str | None,
        backfill_depth: int,
        without_api: bool,
        **options: Any,
    ) -> None:
        if without_api and file is not None:
            raise click.UsageError(f"{WITHOUT_API} lists a cluster and FILE is a snapshot: leave one of them out")
        if options["trace"] is None and options["trace_queue"] is not None:
            raise click.UsageError("--trace-queue says where a trace comes: it needs --trace")
        # whoever says the depth wants decisions with it, and the controller has its own; it reads no trace and keeps no
        # timeline to plot
        is_ours = is_given("backfill_depth") or options["trace"] is not None or bool(options["plots"])
        source = Source(file, kubeconfig, context, None, True, backfill_depth, without_api or is_ours)
        return command(source=source, **options)

    return click.argument("file", metavar="[FILE]", required=False)(depth_option(connection_options(with_source)))
