"""`penstock eta`: asks the controller for its forecasts, or has them made here, and prints them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import click

from controller.cli.asking import Answer, Source, is_given, source_options, without_api_option
from controller.cli.numbers import HOURS
from controller.cli.row_output import Column, Output, output_options, show_rows
from controller.cli.target_completion import complete_target
from controller.cli.targets import nothing_named, read_target
from controller.cli.visibility_client import VisibilityClient
from controller.core.reasons import first_few
from controller.kube import clock
from controller.runtime.operator_action_targets import Target
from controller.simulator.defaults import USUAL_HORIZON, USUAL_RUNS
from controller.visibility.row_targets import rows_named, targets_of
from controller.visibility.rows import PodRow
from controller.visibility.start_rows import EtaRow, StartRow, starts_in, starts_range

_HOUR = 3600
_NOT_YET = StartRow("", unknown="not forecast yet, or the controller makes no forecasts (--forecast-percent)")


@click.command()
@click.argument("targets", metavar="[TARGET]...", nargs=-1, shell_complete=complete_target)
@click.option("--runs", type=click.IntRange(1, 1000), default=USUAL_RUNS, show_default=True, help="Simulations.")
@click.option(
    "--hours",
    type=HOURS,
    default=USUAL_HORIZON / _HOUR,
    show_default=True,
    help="How many hours each simulation looks ahead.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="The same seed draws the same runtimes.")
@output_options
@without_api_option
@source_options
def eta(
    targets: tuple[str, ...], runs: int, hours: float, seed: int, form: str, no_headers: bool, source: Source
) -> None:
    """Say when waiting pods start: a range, or why it is not known.

    TARGET is pod/NAME (or just NAME), job/NAME, group/NAME; without a TARGET, all waiting pods.

    The range comes from simulations of the queues with different runtimes: those that pods state, and those of earlier
    pods that succeeded. Where the cluster serves the visibility API, the command asks the controller, which simulates
    all the time. Elsewhere, and with --runs, --hours or --seed, the command simulates: it lists the cluster once, with
    the permissions that `penstock snapshot` needs. Ctrl-C then shows the result so far.

    Exit code: 0 there is an answer, 1 the file is no snapshot or has no such pod, 130 interrupted without an answer.

    \b
    Example:
      penstock eta job/train -n team-a
      penstock eta --snapshot now.json.gz -o json
    """
    wanted = [read_target(text) for text in targets]
    answer = None if any(map(is_given, ("runs", "hours", "seed"))) else source.from_api(partial(_asked, source, wanted))
    if answer is None:
        from controller.cli.eta_simulated import simulated

        answer = simulated(source, wanted, hours * _HOUR, seed, runs)
    show_rows(
        sorted(answer.rows, key=lambda row: (not row.start.p50, row.start.p50, row.namespace, row.name)),
        _columns(answer.now),
        Output(form, not no_headers),
        name=lambda row: f"pod/{row.name}",
        empty=f"Nothing {f'of {first_few(list(map(str, wanted)))} ' if wanted else ''}waits {source.place}.",
    )


async def _asked(source: Source, targets: Sequence[Target], api: VisibilityClient) -> Answer[EtaRow]:
    """Return the controller's forecasts. Raises ClickException for a target that does not exist."""
    spaces = source.namespaces
    rows = await api.rows("queuepods", PodRow, None if spaces is None else spaces[0])
    chosen = [one for target in targets for one in _named(rows, target, spaces)] if targets else rows
    waiting = {(one.namespace, one.name): one for one in chosen if one.state == "Pending"}
    found = [EtaRow(one.namespace, one.name, one.local_queue, one.start or _NOT_YET) for one in waiting.values()]
    return Answer(found, clock.now())


def _named(rows: Sequence[PodRow], target: Target, namespaces: Sequence[str] | None) -> list[PodRow]:
    found = rows_named(rows, target.kind, target.name)
    if not found:
        waiting = (one for one in rows if one.state == "Pending")
        raise nothing_named(target, targets_of(waiting), namespaces)
    return found


def _columns(now: float) -> tuple[Column[EtaRow], ...]:
    return (
        Column("NAMESPACE", lambda row: row.namespace),
        Column("POD", lambda row: row.name),
        Column("QUEUE", lambda row: row.local_queue, is_wide=True),
        Column("STARTSIN", lambda row: starts_in(row.start, now)),
        Column("RANGE", lambda row: starts_range(row.start, now)),
        Column("AT", lambda row: row.start.p50 or "-"),
        Column("UNKNOWN", lambda row: row.start.unknown or "-"),
    )
