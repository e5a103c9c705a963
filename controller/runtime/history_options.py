"""The options that say where the controller keeps its history."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Final, TypeVar

import click
from click.core import ParameterSource

from controller.core.kubernetes.names import is_label_key
from controller.history.run_store import HistoryError
from controller.runtime.history_lane import History

T = TypeVar("T")

MOST_LABELS: Final = 10


def history_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add --history and --history-days; the command gets what they come to as `history`.

    Raises ClickException and UsageError for what cannot be meant.
    """

    @wraps(command)
    def with_history(
        *, history: str | None, history_days: int, history_labels: tuple[str, ...], **options: Any
    ) -> None:
        command(history=None if history is None else _kept(history, history_days, history_labels), **options)

    with_history = click.option(
        "--history-labels",
        metavar="KEY,...",
        default="",
        show_default="none",
        callback=_labels,
        help=f"With --history: labels of pods that usage can be summed by, at most {MOST_LABELS}.",
    )(with_history)
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


def _needs_history(ctx: click.Context, param: click.Parameter, value: T) -> T:
    name = param.name or ""
    is_given = ctx.get_parameter_source(name) in (ParameterSource.COMMANDLINE, ParameterSource.ENVIRONMENT)
    if is_given and ctx.params.get("history") is None:
        raise click.UsageError(f"--{name.replace('_', '-')} (or PENSTOCK_{name.upper()}) needs --history", ctx)
    return value


def _labels(ctx: click.Context, param: click.Parameter, text: str) -> tuple[str, ...]:
    keys = tuple(dict.fromkeys(one.strip() for one in _needs_history(ctx, param, text).split(",") if one.strip()))
    wrong = next((one for one in keys if not is_label_key(one)), None)
    if wrong is not None:
        raise click.BadParameter(f"{wrong!r} is no key of a label; write such as app.kubernetes.io/name", ctx, param)
    if len(keys) > MOST_LABELS:
        raise click.BadParameter(f"{len(keys)} labels are more than {MOST_LABELS}", ctx, param)
    return keys


def _kept(url: str, days: int, labels: tuple[str, ...]) -> History:
    # who keeps no history does not pay for what talks to databases
    from controller.history.reader import Reader
    from controller.history.store import Store

    try:
        store = Store(url)
    except HistoryError as error:
        raise click.ClickException(f"--history: {error}") from None
    return History(store, days, Reader(store), labels)
