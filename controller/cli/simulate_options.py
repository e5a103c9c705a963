"""Where `penstock simulate` simulates: what its options and FILE come to."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from controller.cli.as_controller import OPTIONS, AsController, controller_options
from controller.cli.asking import Source, is_given
from controller.cli.visibility_client import WITHOUT_API
from controller.telemetry.options import connection_options


def source_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add [FILE], --kubeconfig, --context and options of the controller; the command gets all of them as `source`."""

    @wraps(command)
    def with_source(
        *,
        file: str | None,
        kubeconfig: str | None,
        context: str | None,
        as_controller: AsController,
        without_api: bool,
        **options: Any,
    ) -> None:
        if without_api and file is not None:
            raise click.UsageError(f"{WITHOUT_API} lists a cluster and FILE is a snapshot: leave one of them out")
        if options["trace"] is None and options["trace_queue"] is not None:
            raise click.UsageError("--trace-queue says where a trace comes: it needs --trace")
        # whoever gives options of the controller wants decisions with them, and it has its own; it reads no trace and
        # keeps no timeline to plot
        is_ours = any(map(is_given, OPTIONS)) or options["trace"] is not None or bool(options["plots"])
        source = Source(file, kubeconfig, context, None, True, as_controller, without_api or is_ours)
        return command(source=source, **options)

    return click.argument("file", metavar="[FILE]", required=False)(controller_options(connection_options(with_source)))
