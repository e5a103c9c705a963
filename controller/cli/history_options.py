"""Options of commands that read the history: which database, and of which time."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, Final

import click

from controller.cli.history_source import HistorySource, ServedHistory, StoredHistory
from controller.history.times import FORMS, read_time
from controller.history.usage_columns import Span, UsageColumn
from controller.kube import clock
from controller.kube.clock import rfc3339
from controller.telemetry.options import connection_options

if TYPE_CHECKING:
    from controller.history.store import Store

_LIMIT: Final = click.IntRange(1, 100_000)
_CHOICES: Final = (
    (("--user",), "users", "Only this user."),
    (("--queue",), "queues", "Only this LocalQueue."),
    (("-n", "--namespace"), "namespaces", "Only this namespace."),
)
"""The last is shown first."""


class TimeType(click.ParamType[int]):
    """A time on the command line: a date, a time with a zone, or so long ago."""

    name = "TIME"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Read it as whole seconds since 1970, or fail with what may stand there."""
        text = str(value)
        try:
            return read_time(text, int(clock.now()))
        except ValueError:
            self.fail(f"{text!r} is no time: say {FORMS}", param, ctx)


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


def runs_options(days: int) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add what chooses runs: TARGET, the span, -n, --queue, --user and --limit; the command gets `where` of them."""

    def with_options(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def with_where(
            *, namespaces: tuple[str, ...], queues: tuple[str, ...], users: tuple[str, ...], **options: Any
        ) -> None:
            named = {UsageColumn.NAMESPACE: namespaces, UsageColumn.LOCAL_QUEUE: queues, UsageColumn.USER: users}
            command(where={one: those for one, those in named.items() if those}, **options)

        found = click.option("--limit", type=_LIMIT, default=1000, show_default=True, help="How many pods, at most.")(
            with_where
        )
        for option, name, help_ in _CHOICES:
            found = click.option(*option, name, metavar="NAME", multiple=True, help=help_)(found)
        return click.argument("target", metavar="[TARGET]", required=False)(span_options(days)(found))

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

    return _named(with_store)


def source_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add --history, --kubeconfig and --context; the command gets what answers as `source`: a database, or the API.

    Raises ClickException for a URL that is none.
    """

    @wraps(command)
    def with_source(*, history: str | None, kubeconfig: str | None, context: str | None, **options: Any) -> None:
        source: HistorySource = ServedHistory(kubeconfig, context)
        if history is not None:
            source = StoredHistory(open_store(history))
        command(source=source, **options)

    return _named(connection_options(with_source))


def _named(command: Callable[..., None]) -> Callable[..., None]:
    return click.option(
        "--history",
        metavar="URL",
        envvar="PENSTOCK_HISTORY",
        help="Database of the controller's option --history: sqlite:////FOLDER/FILE or postgresql://….",
    )(command)


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
