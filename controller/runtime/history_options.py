"""The options that say where the controller keeps its history."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import click
from click.core import ParameterSource

from controller.history.run_store import HistoryError
from controller.runtime.history_lane import History


def history_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add --history and --history-days; the command gets what they come to as `history`.

    Raises ClickException and UsageError for what cannot be meant.
    """

    @wraps(command)
    def with_history(*, history: str | None, history_days: int, **options: Any) -> None:
        command(history=None if history is None else _kept(history, history_days), **options)

    with_history = click.option(
        "--history-days",
        type=click.IntRange(0),
        default=400,
        callback=_needs_history,
        help="With --history: for how many days after their end runs are kept; 0: for ever.",
    )(with_history)
    return click.option(
        "--history",
        metavar="URL",
        is_eager=True,
        show_default="none",
        help="Database in which runs of pods are kept: sqlite:////FOLDER/FILE or postgresql://USER@HOST/NAME.",
    )(with_history)


def _needs_history(ctx: click.Context, param: click.Parameter, days: int) -> int:
    is_given = ctx.get_parameter_source("history_days") in (ParameterSource.COMMANDLINE, ParameterSource.ENVIRONMENT)
    if is_given and ctx.params.get("history") is None:
        raise click.UsageError("--history-days (or PENSTOCK_HISTORY_DAYS) needs --history", ctx)
    return days


def _kept(url: str, days: int) -> History:
    # who keeps no history does not pay for what talks to databases
    from controller.history.reader import Reader
    from controller.history.store import Store

    try:
        store = Store(url)
    except HistoryError as error:
        raise click.ClickException(f"--history: {error}") from None
    return History(store, days, Reader(store))
