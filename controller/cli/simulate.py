"""`penstock simulate`: what another setup would do, by the controller or here. `simulator.comparing` simulates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TextIO

import click

from controller.cli.asking import Source, without_api_option
from controller.cli.files import files_option
from controller.cli.numbers import HOURS, STEP_SECONDS
from controller.cli.played import play
from controller.cli.simulate_by_api import body_of, simulate_by_api
from controller.cli.simulate_options import source_options
from controller.cli.simulate_output import show
from controller.cli.simulate_plot import draw, plot_option
from controller.cli.simulate_trace import read_trace, trace_options
from controller.cli.visibility_client import WITHOUT_API
from controller.kube.manifests import Document, ManifestError, parse_documents, read_stream
from controller.simulator.comparing import Comparison, Variant
from controller.simulator.measurements import Outcome
from controller.simulator.runtimes import seeds_of
from controller.simulator.traces import Trace
from controller.simulator.variants import Part, VariantError, variant_of
from controller.simulator.world import World
from controller.visibility.simulation_rows import SimulationRow, simulation_row

_HOUR = 3600


@click.command()
@click.option("--change", "changes", metavar="CHANGE", multiple=True, help="A change to simulate; can be repeated.")
@files_option("Jobs to add;", required=False)
@click.option(
    "--hours",
    type=HOURS,
    default=24.0,
    show_default=True,
    help="How many hours each simulation covers.",
)
@click.option(
    "--runs", type=click.IntRange(1, 1000), default=5, show_default=True, help="How many simulations of each setup."
)
@click.option("--seed", type=int, default=0, show_default=True, help="The same seed draws the same future.")
@click.option(
    "--resolution",
    type=STEP_SECONDS,
    default=1.0,
    show_default=True,
    help="Seconds of a step: coarser is quicker.",
)
@trace_options
@click.option("-o", "--output", type=click.Choice(["table", "json", "yaml"]), default="table", show_default=True)
@plot_option
@without_api_option
@source_options
def simulate(
    source: Source,
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
) -> None:
    """Play the queues forward, as they are and with changes, and compare: waits, use, preemptions, cost.

    FILE comes from `penstock snapshot`; - is stdin. Without a FILE, the controller simulates where the cluster serves
    the visibility API, as often as it has time for. Elsewhere, and with --trace or --plot, the command lists the
    cluster once. It writes nothing.

    \b
    A CHANGE is one of
      quota:QUEUE/FLAVOR/RESOURCE=[+|-]AMOUNT    weight:QUEUE=WEIGHT
      nodes:FLAVOR=[+|-]COUNT                    lost:FLAVOR
      stop:[NAMESPACE/]QUEUE=STOPPOLICY          window:QUEUE/WINDOW=open|closed

    -f creates a Job at the start. With --trace, only the jobs of the trace arrive. Ctrl-C shows the result so far.

    Exit code: 0 done, 1 the file is no snapshot or a change cannot be applied, 130 interrupted without a result.

    \b
    Example:
      penstock simulate now.json.gz --change nodes:spot=+4
    """
    documents = list(_documents(files))
    spec = {"changes": changes, "hours": hours, "runs": runs, "seed": seed, "resolution": resolution}
    row = _by_api(source, spec, documents)
    if row is not None:
        show(row, output)
    else:
        _simulate(source.world(), spec, documents, (trace, trace_queue), output, plots)


def _by_api(source: Source, spec: Mapping[str, Any], documents: Sequence[Document]) -> SimulationRow | None:
    """Return what the controller has simulated; None: it is not to be asked, or not for that. Raises KubeError."""
    body = body_of({**spec, "jobs": [dict(one) for one in documents]})
    if body is None:
        return None
    row = source.from_api(partial(simulate_by_api, body=body, documents=documents))
    if row is not None and row.before.simulations < spec["runs"]:
        told = f"the controller had time for {row.before.simulations} of {spec['runs']} simulations"
        click.echo(f"{told}; {WITHOUT_API} makes all of them here", err=True)
    return row


def _simulate(
    world: World,
    spec: Mapping[str, Any],
    documents: Sequence[Document],
    trace: tuple[str | None, str | None],
    output: str,
    plots: Sequence[Path],
) -> None:
    """Simulate here, show what that comes to, and draw it where that is wanted; `trace` with its queue.

    Raises ClickException.
    """
    after = _after(world, spec["changes"], documents)
    outcomes = _outcomes(world, after, spec, read_trace(world, *trace), has_timeline=bool(plots))
    show(simulation_row(outcomes, world.now, after), output)
    draw(outcomes, world.now, [*spec["changes"], *_added(after)], plots)


def _added(after: Variant | None) -> list[str]:
    return [] if after is None else [f"Job {job.key} created" for job, _ in after.jobs]


def _outcomes(
    world: World, after: Variant | None, spec: Mapping[str, Any], trace: Trace | None, *, has_timeline: bool
) -> Sequence[Outcome]:
    seconds, resolution = spec["hours"] * _HOUR, spec["resolution"]
    comparison = Comparison(
        world, after, seconds=seconds, resolution=resolution, trace=trace, has_timeline=has_timeline
    )
    play(spec["runs"], (comparison.steps(one) for one in seeds_of(spec["seed"], spec["runs"])))
    return comparison.outcomes


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
