"""Options of commands that read the history: which database, and of which time."""

from __future__ import annotations

import calendar
import datetime as dt
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, Final

import click

from controller.history.usage_columns import Span
from controller.kube import clock
from controller.kube.clock import rfc3339

if TYPE_CHECKING:
    from controller.history.store import Store

_DAY: Final = 86_400
_UNITS: Final = {"m": 60, "h": 3600, "d": _DAY, "w": 7 * _DAY}


class TimeType(click.ParamType[int]):
    """A time on the command line: a date, a time with a zone, or so long ago."""

    name = "TIME"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Read it as whole seconds since 1970, or fail with what may stand there."""
        text = str(value)
        try:
            return int(clock.now()) if text == "now" else _ago(text) or _time(text)
        except ValueError:
            self.fail(f"{text!r} is no time: say 2026-11-01, 2026-11-01T14:00:00Z, 36h, 7d, or now", param, ctx)


def _ago(text: str) -> int | None:
    count, unit = text[:-1], _UNITS.get(text[-1:])
    return int(clock.now()) - int(count) * unit if unit and count.isdecimal() else None


def _time(text: str) -> int:
    """Read RFC 3339, or a date, which begins at midnight UTC as all days of bills do."""
    found = dt.datetime.fromisoformat(text)
    if found.tzinfo is None and len(text) > len("2026-11-01"):
        raise ValueError("a time needs its zone")
    return calendar.timegm(found.astimezone(dt.UTC).timetuple() if found.tzinfo else found.timetuple())


def span_options(days: int) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add --from and --to, by default the last so many days; the command gets the time between them as `span`."""

    def with_options(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def with_span(*, begin: int, end: int, **options: Any) -> None:
            if end <= begin:
                raise click.UsageError(f"--to: {rfc3339(end)} is not after --from, {rfc3339(begin)}")
            command(span=Span(begin, end), **options)

        told = f"{days} days ago"
        found = click.option("--to", "end", type=TimeType(), default="now", show_default=True, help="Up to this time.")(
            with_span
        )
        return click.option(
            "--from", "begin", type=TimeType(), default=f"{days}d", show_default=told, help="From this time on."
        )(found)

    return with_options


def history_option(command: Callable[..., None]) -> Callable[..., None]:
    """Add --history; the command gets its database as `store`. Raises ClickException for a URL that is none."""

    @wraps(command)
    def with_store(*, history: str | None, **options: Any) -> None:
        if history is None:
            raise click.UsageError(
                "--history: name the database of the controller's option of the same name, or set PENSTOCK_HISTORY"
            )
        command(store=open_store(history), **options)

    return click.option(
        "--history",
        metavar="URL",
        envvar="PENSTOCK_HISTORY",
        help="Database of the controller's option --history: sqlite:////FOLDER/FILE or postgresql://….",
    )(with_store)


def open_store(url: str) -> Store:
    """Return a database that has a history. Raises ClickException."""
    from controller.history.run_store import HistoryError
    from controller.history.store import Store

    try:
        store = Store(url)
        store.check()
    except HistoryError as error:
        raise click.ClickException(f"--history: {error}") from None
    return store
