"""`penstock eta`: reads a cluster or a file, simulates, and prints. What is simulated is `simulator.eta`'s business."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import click
from rich.console import Console
from rich.progress import Progress

from controller.cli.asking import Answer, Source, is_given, source_options, without_api_option
from controller.cli.played import playable
from controller.cli.row_output import Column, Output, output_options, show_rows
from controller.cli.target_completion import complete_target
from controller.cli.targets import nothing_named, read_target
from controller.cli.visibility_client import VisibilityClient
from controller.core.workloads.pods import Phase, Pod
from controller.kube import clock
from controller.runtime.operator_action_targets import Target
from controller.simulator.eta import USUAL_HORIZON, USUAL_RUNS, Eta, Forecasts, Unknown
from controller.simulator.runtimes import seeds_of
from controller.simulator.world import World
from controller.visibility.rows import PodRow
from controller.visibility.start_forecasts import start_row
from controller.visibility.start_rows import EtaRow, StartRow, starts_in, starts_range
from controller.visibility.targets import all_targets, pods_named, rows_named, targets_of

_HOUR = 3600
_NOT_YET = StartRow("", unknown="not forecast yet, or the controller makes no forecasts (--forecast-percent)")


@click.command()
@click.argument("targets", metavar="[TARGET]...", nargs=-1, shell_complete=complete_target)
@click.option("--runs", type=click.IntRange(1, 1000), default=USUAL_RUNS, show_default=True, help="Simulations.")
@click.option(
    "--hours",
    type=click.FloatRange(min=0, min_open=True),
    default=USUAL_HORIZON / _HOUR,
    show_default=True,
    help="How far each looks ahead.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="The same seed draws the same runtimes.")
@output_options
@without_api_option
@source_options
def eta(
    targets: tuple[str, ...], runs: int, hours: float, seed: int, form: str, no_headers: bool, source: Source
) -> None:
    """Say when waiting pods start: a range, or why nobody knows.

    TARGET is pod/NAME (or just NAME), job/NAME, group/NAME; without any, all pods that wait.

    The queues are played forward, each time with other runtimes: those that pods state, and those of pods that
    succeeded. Where the cluster serves the visibility API its controller does that all the time, and is asked.
    Elsewhere, and with --runs, --hours or --seed, this command does it: it lists the cluster once, see `penstock
    snapshot --help` for what that needs. Ctrl-C then shows what is known so far.

    Exit code: 0 there is an answer, 1 the file is no snapshot or has no such pod, 130 interrupted without any.

    \b
    Example:
      penstock eta job/train -n team-a
      penstock eta --snapshot now.json.gz -o json
    """
    wanted = [read_target(text) for text in targets]
    found = None if any(map(is_given, ("runs", "hours", "seed"))) else source.from_api(partial(_asked, source, wanted))
    answer = _simulated(source, wanted, hours * _HOUR, seed, runs) if found is None else Answer(found, clock.now())
    show_rows(
        sorted(answer.rows, key=lambda row: (not row.start.p50, row.start.p50, row.namespace, row.name)),
        _columns(answer.now),
        Output(form, not no_headers),
        name=lambda row: f"pod/{row.name}",
        empty=f"Nothing waits {source.place}.",
    )


async def _asked(source: Source, targets: Sequence[Target], api: VisibilityClient) -> list[EtaRow]:
    """Return the controller's forecasts. Raises ClickException for a target that does not exist."""
    spaces = source.namespaces
    rows = await api.rows("queuepods", PodRow, None if spaces is None else spaces[0])
    chosen = [one for target in targets for one in _named(rows, target, spaces)] if targets else rows
    waiting = {(one.namespace, one.name): one for one in chosen if one.state == "Pending"}
    return [EtaRow(one.namespace, one.name, one.local_queue, one.start or _NOT_YET) for one in waiting.values()]


def _named(rows: Sequence[PodRow], target: Target, namespaces: Sequence[str] | None) -> list[PodRow]:
    found = rows_named(rows, target.kind, target.name)
    if not found:
        raise nothing_named(target, targets_of(rows), namespaces)
    return found


def _simulated(source: Source, targets: Sequence[Target], seconds: float, seed: int, runs: int) -> Answer[EtaRow]:
    """Simulate what the cluster, or a file, has. Raises ClickException and KubeError."""
    world = source.world()
    uids = _uids(world, targets, source.namespaces)
    found = _forecast(Forecasts(world, uids, horizon=seconds), seed, runs)
    rows = [_row(world.pods[uid], one, world.now) for uid, one in zip(uids, found, strict=True)]
    return Answer(rows, world.now)


def _uids(world: World, targets: Sequence[Target], namespaces: Sequence[str] | None) -> list[str]:
    """Return the pods that are meant, of these namespaces; without targets all that wait, the oldest first."""
    there = [one for one in world.pods.values() if namespaces is None or one.namespace in namespaces]
    if not targets:
        waiting = (pod for pod in there if pod.phase is Phase.QUEUED)
        return [pod.uid for pod in sorted(waiting, key=lambda pod: (pod.created, pod.key))]
    return list(dict.fromkeys(uid for target in targets for uid in _meant(world, there, target, namespaces)))


def _meant(world: World, there: Sequence[Pod], target: Target, namespaces: Sequence[str] | None) -> Iterator[str]:
    found = pods_named(there, world.jobs, target.kind, target.name)
    if not found:
        raise nothing_named(target, all_targets(there, world.jobs, namespaces), namespaces)
    yield from (
        pod.uid for pod in sorted(found, key=lambda pod: pod.key) if target.kind == "pod" or not pod.is_finished
    )


def _forecast(forecasts: Forecasts, seed: int, runs: int) -> list[Eta | Unknown]:
    """Simulate so many times, or until Ctrl-C, with a progress bar on a terminal alone."""
    done = 0
    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress, playable():
        task = progress.add_task("Simulating", total=runs)
        try:
            for one in seeds_of(seed, runs):
                forecasts.run(one)
                done += 1
                progress.update(task, completed=done)
        except KeyboardInterrupt:
            if not done:
                raise
    if done < runs:
        click.echo(f"interrupted after {done} of {runs} simulations", err=True)
    return forecasts.results()


def _row(pod: Pod, one: Eta | Unknown, now: float) -> EtaRow:
    return EtaRow(pod.namespace, pod.name, pod.queue or "", start_row(one, now, names_others=True))


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
