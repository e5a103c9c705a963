"""`penstock simulate --trace`: which file is read how, and whether there are the queues that it names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Final, TypeVar

import click

from controller.core.reasons import first_few
from controller.kube.errors import one_line
from controller.kube.manifests import ManifestError, parse
from controller.simulator.kueue_configs import generated_jobs, has_topology, parse_config
from controller.simulator.traces import Trace, TracedJob, TraceError, read_csv, read_swf, trace_of
from controller.simulator.world import World

_F = TypeVar("_F", bound=Callable[..., Any])
_KUEUE: Final = "kueue:"


def trace_options(command: _F) -> _F:
    """Add --trace and --trace-queue; the command gets them as `trace` and `trace_queue`."""
    command = click.option(
        "--trace-queue", metavar="NAMESPACE/NAME", help="The LocalQueue for jobs of the trace that name none."
    )(command)
    return click.option(
        "--trace",
        metavar="TRACE",
        help="Jobs that arrive: a .swf file, a .csv file with submit and seconds, or kueue:FILE, a generator.yaml"
        " of Kueue.",
    )(command)


def read_trace(world: World, trace: str | None, queue: str | None) -> Trace | None:
    """Return what comes to a world, None: no trace was named. Raises ClickException."""
    if trace is None:
        return None
    file = trace.removeprefix(_KUEUE)
    namespace, _, name = (queue or "").partition("/")
    try:
        # spreadsheets put a byte order mark first
        with open(file, encoding="utf-8-sig") as lines:
            if file != trace:
                jobs = _of_kueue(lines.read(), file, has_queue=queue is not None)
            else:
                jobs = read_swf(lines) if file.endswith(".swf") else read_csv(lines)
            found = trace_of(jobs, world.now, (namespace, name) if name else None)
    except (OSError, ManifestError, TraceError, UnicodeDecodeError) as error:
        told = one_line(error)
        raise click.ClickException(told if told.startswith(f"{file}: ") else f"{file}: {told}") from None
    _check_queues(world, found, file)
    return found


def _of_kueue(text: str, file: str, *, has_queue: bool) -> Iterator[TracedJob]:
    """Its jobs name the queues that Kueue's generator makes, unless people have named one for all of them."""
    documents = parse(text, file)
    if len(documents) != 1:
        raise TraceError(f"must be one document of YAML, and has {len(documents)}")
    config = parse_config(documents[0])
    if has_topology(config):
        click.echo(f"{file}: topologies are not simulated: pods of a workload may go to any nodes", err=True)
    for job in generated_jobs(config):
        yield replace(job, queue="") if has_queue else job


def _check_queues(world: World, trace: Trace, file: str) -> None:
    """Pods of a queue that does not exist would wait to the end, and nothing else would be found out."""
    named = dict.fromkeys((pod.namespace, pod.queue or "") for _, pod in trace.arrivals)
    lacking = ["/".join(one) for one in named if one not in world.local_queues]
    if lacking:
        raise click.ClickException(
            f"{file}: there is no LocalQueue {first_few(lacking)}; create it before the snapshot, or say with "
            "--trace-queue where jobs come that name none"
        )
