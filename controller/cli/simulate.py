"""`penstock simulate`: what another setup would do. What is simulated is `simulator.comparing`'s business."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TextIO

import click
from rich.console import Console
from rich.progress import Progress

from controller.cli.backfill_depth import depth_option
from controller.cli.files import files_option
from controller.cli.played import playable, saved_world
from controller.cli.simulate_output import show
from controller.cli.simulate_plot import draw, plot_option
from controller.cli.simulate_trace import read_trace, trace_options
from controller.kube.manifests import Document, ManifestError, parse_documents, read_stream
from controller.simulator.comparing import Comparison, Variant
from controller.simulator.measurements import Outcome
from controller.simulator.runtimes import seeds_of
from controller.simulator.variants import Part, VariantError, variant_of
from controller.simulator.world import World
from controller.telemetry.options import connection_options
from controller.visibility.simulation_rows import simulation_row

_HOUR = 3600


@click.command()
@click.argument("file", metavar="[FILE]", required=False)
@click.option("--change", "changes", metavar="CHANGE", multiple=True, help="What is changed; can be repeated.")
@files_option("Jobs to add;", required=False)
@click.option(
    "--hours",
    type=click.FloatRange(min=0, min_open=True),
    default=24.0,
    show_default=True,
    help="How long each simulation lasts.",
)
@click.option("--runs", type=click.IntRange(1, 1000), default=5, show_default=True, help="Simulations of each setup.")
@click.option("--seed", type=int, default=0, show_default=True, help="The same seed draws the same future.")
@click.option(
    "--resolution",
    type=click.FloatRange(min=0, min_open=True),
    default=1.0,
    show_default=True,
    help="Seconds of a step: coarser is quicker.",
)
@trace_options
@click.option("-o", "--output", type=click.Choice(["table", "json", "yaml"]), default="table", show_default=True)
@plot_option
@depth_option
@connection_options
def simulate(
    file: str | None,
    changes: tuple[str, ...],
    files: tuple[TextIO, ...],
    hours: float,
    runs: int,
    seed: int,
    resolution: float,
    trace: str | None,
    trace_queue: str | None,
    output: str,
    plots: tuple[Path, ...],
    backfill_depth: int,
    kubeconfig: str | None,
    context: str | None,
) -> None:
    """Play the queues forward, as they are and with changes, and compare: waits, use, preemptions, cost.

    FILE is one of `penstock snapshot`, - is stdin; without it, the cluster is listed once. Nothing is written to it.
    -f creates a Job at the start. With --trace, its jobs come, and no others. Ctrl-C shows what is known so far.

    \b
    A CHANGE is one of
      quota:QUEUE/FLAVOR/RESOURCE=[+|-]AMOUNT    weight:QUEUE=WEIGHT
      nodes:FLAVOR=[+|-]COUNT                    lost:FLAVOR
      stop:[NAMESPACE/]QUEUE=STOPPOLICY          window:QUEUE/WINDOW=open|closed

    Exit code: 0 done, 1 the file is no snapshot or a change cannot be applied, 130 interrupted without a result.

    \b
    Example:
      penstock simulate now.json.gz --change nodes:spot=+4
    """
    world = saved_world(file, kubeconfig, context, backfill_depth)
    after, traced = _after(world, changes, list(_documents(files))), read_trace(world, trace, trace_queue)
    comparison = Comparison(
        world, after, seconds=hours * _HOUR, resolution=resolution, trace=traced, has_timeline=bool(plots)
    )
    _play(comparison, seed, runs)
    _report(comparison.outcomes, world.now, after, changes, output, plots)


def _report(
    outcomes: Sequence[Outcome],
    now: float,
    after: Variant | None,
    changes: Sequence[str],
    output: str,
    plots: Sequence[Path],
) -> None:
    show(simulation_row(outcomes, now, after), output)
    jobs = [] if after is None else [job for job, _ in after.jobs]
    draw(outcomes, now, [*changes, *(f"Job {job.key} created" for job in jobs)], plots)


def _after(world: World, changes: Sequence[str], documents: Sequence[Document]) -> Variant | None:
    try:
        return variant_of(world, changes, documents)
    except VariantError as error:
        where = "--change " if error.part is Part.CHANGES else f"{documents[error.number].where}: "
        raise click.ClickException(f"{where}{error}") from None


def _documents(files: Iterable[TextIO]) -> Iterator[Document]:
    for file in files:
        try:
            found = list(parse_documents(read_stream(file), file.name))
        except ManifestError as error:
            raise click.ClickException(str(error)) from None
        if not found:
            raise click.ClickException(f"{file.name}: holds no object")
        yield from found


def _play(comparison: Comparison, seed: int, runs: int) -> None:
    """Simulate so many times, or until Ctrl-C, with a progress bar on a terminal alone."""
    done = 0
    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress, playable():
        task = progress.add_task("Simulating", total=runs)
        try:
            for one in seeds_of(seed, runs):
                for part in comparison.steps(one):
                    progress.update(task, completed=done + part)
                done += 1
        except KeyboardInterrupt:
            if not done:
                raise
    if done < runs:
        click.echo(f"interrupted after {done} of {runs} simulations", err=True)
