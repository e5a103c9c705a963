"""`penstock notifications`: the file that says who is notified, read and tried."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from controller.cli.row_output import Column, Output, output_options, show_rows

if TYPE_CHECKING:
    from controller.notifications.settings import Receiver, Settings


@dataclass(frozen=True, slots=True)
class TrialRow:
    """What came of a message to a receiver; `why` empty: it arrived."""

    receiver: str
    format: str
    result: str
    why: str


_COLUMNS: Final[tuple[Column[TrialRow], ...]] = (
    Column("RECEIVER", lambda row: row.receiver),
    Column("FORMAT", lambda row: row.format),
    Column("RESULT", lambda row: row.result),
    Column("WHY", lambda row: row.why or "-"),
)


@click.group()
def notifications() -> None:
    """Try the file that says who is notified of what happens to workloads and budgets.

    \b
    Example:
      penstock notifications test notifications.yaml
    """


@notifications.command("test")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--receiver", "names", metavar="NAME", multiple=True, help="To this receiver alone; can be repeated.")
@output_options
def try_receivers(file: Path, names: tuple[str, ...], form: str, no_headers: bool) -> int:
    """Check FILE, and send a test message to each of its receivers. Exits with 1 if one of them did not take it.

    The message comes from this machine: what lets the controller reach a receiver, such as a network policy, is not
    tried.
    """
    # what talks to receivers takes long to import
    from controller.notifications.settings import SettingsError, read

    try:
        settings = read(file)
    except SettingsError as error:
        raise click.ClickException(str(error)) from None
    rows = asyncio.run(_tried(_chosen(settings, names), settings.cluster))
    show_rows(rows, _COLUMNS, Output(form, not no_headers), name=lambda row: row.receiver, empty="No receivers.")
    return 0 if all(not row.why for row in rows) else 1


def _chosen(settings: Settings, names: Sequence[str]) -> list[Receiver]:
    known = [one.name for one in settings.receivers]
    for name in names:
        if name not in known:
            raise click.UsageError(f"--receiver: {name!r} is no receiver of this file; it has {', '.join(known)}")
    return [one for one in settings.receivers if not names or one.name in names]


async def _tried(receivers: Sequence[Receiver], cluster: str | None) -> list[TrialRow]:
    from controller.notifications.posting import Delivered
    from controller.notifications.trial import try_all

    found = await try_all(receivers, cluster)
    return [
        TrialRow(one.name, one.format, *(("sent", "") if isinstance(answer, Delivered) else ("failed", answer.why)))
        for one, answer in found
    ]
