"""--watch: a question asked again every few seconds, until Ctrl-C."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from time import sleep
from typing import Any

import click

from controller.cli.asking import Source

_SECONDS = 5.0
"""Between two answers: each lists what decisions rest on."""


def watch_option(command: Callable[..., None]) -> Callable[..., None]:
    """Add --watch: on a terminal each answer replaces the one before, elsewhere they follow each other."""

    @wraps(command)
    def again(*, watch: bool, source: Source, **options: Any) -> None:
        if not watch:
            return command(source=source, **options)
        if source.file is not None:
            raise click.UsageError("--watch asks a cluster again and again; a file does not change")
        try:
            _repeat(lambda: command(source=source, **options))
        except KeyboardInterrupt:
            return None

    told = f"Ask again every {_SECONDS:.0f} s, until Ctrl-C."
    return click.option("-w", "--watch", is_flag=True, help=told)(again)


def _repeat(ask: Callable[[], None]) -> None:
    while True:
        if sys.stdout.isatty():
            click.clear()
        ask()
        sys.stdout.flush()
        sleep(_SECONDS)
