"""What `penstock simulate` prints: before and after, in tables for people and as a document for programs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import to_builtins
from rich.console import Console
from rich.table import Table

from controller.cli.counts import counted
from controller.cli.output import plain_table, show_document
from controller.core.kubernetes.amounts import PODS
from controller.core.reasons import first_few
from controller.visibility.simulation_rows import OutcomeRow, SimulationRow, WaitsRow
from controller.visibility.start_rows import wait_text

_WAITS = ("MEDIAN WAIT", "P90 WAIT", "STARTED", "WAITING")


def show(row: SimulationRow, output: str) -> None:
    """Print what simulations came to as a table, json or yaml."""
    if output == "table":
        _show_tables(row)
    else:
        show_document(to_builtins(row), output)


def _show_tables(row: SimulationRow) -> None:
    """Print before and after side by side; one alone where nothing was changed."""
    console = Console()
    console.print(_queues(row.outcomes), crop=False)
    if any(one.users for one in row.outcomes):
        console.print(_users(row.outcomes), crop=False)
    console.print(_flavors(row.outcomes), crop=False)
    for line in _sentences(row):
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def _queues(outcomes: Sequence[OutcomeRow]) -> Table:
    """Those that preempt nobody and cost nothing have no columns of that."""
    every = [one for outcome in outcomes for one in outcome.cluster_queues.values()]
    is_any_preempted, costs = any(one.preempted for one in every), any(one.cost for one in every)
    rows = []
    for name in _names(one.cluster_queues for one in outcomes):
        found = [one.cluster_queues.get(name) for one in outcomes]
        row = [name or "(none)", *_waits_cells(found)]
        if is_any_preempted:
            row.append(_cell(f"{0.0 if one is None else one.preempted:.0f}" for one in found))
        if costs:
            row.append(_cell(f"{0.0 if one is None else one.cost:.2f}" for one in found))
        rows.append(row)
    more = [*(["PREEMPTED"] if is_any_preempted else []), *(["COST"] if costs else [])]
    return plain_table(("CLUSTERQUEUE", *_WAITS, *more), rows)


def _users(outcomes: Sequence[OutcomeRow]) -> Table:
    names = _names(one.users for one in outcomes)
    rows = [(name, *_waits_cells([one.users.get(name) for one in outcomes])) for name in names]
    return plain_table(("USER", *_WAITS), rows)


def _flavors(outcomes: Sequence[OutcomeRow]) -> Table:
    """Of what is used at all, but the number of pods."""
    parts = [{(one.flavor, one.resource): one.part for one in outcome.utilisation} for outcome in outcomes]
    columns = sorted({column for each in parts for column, part in each.items() if part and column[1] != PODS})
    return plain_table(
        ("FLAVOR", "RESOURCE", "USED"),
        [(*column, _cell(_percent(each.get(column)) for each in parts)) for column in columns],
    )


def _names(each: Iterable[Mapping[str, object]]) -> list[str]:
    return sorted({name for one in each for name in one})


def _waits_cells(each: Sequence[WaitsRow | None]) -> tuple[str, ...]:
    return (
        _cell("-" if one is None or one.median is None else wait_text(one.median) for one in each),
        _cell("-" if one is None or one.p90 is None else wait_text(one.p90) for one in each),
        _cell(f"{0.0 if one is None else one.started:.0f}" for one in each),
        _cell(f"{0.0 if one is None else one.waiting:.0f}" for one in each),
    )


def _cell(values: Iterable[str]) -> str:
    """Write what is before and after, once where both are the same."""
    return " -> ".join(dict.fromkeys(values))


def _percent(part: float | None) -> str:
    return "-" if part is None else f"{100 * part:.0f}%"


def _sentences(row: SimulationRow) -> Iterable[str]:
    last = row.outcomes[-1]
    for job in row.jobs:
        starts = sorted(at for name, found in last.starts.items() if name.startswith(f"{job.name}-") for at in found)
        if not starts:
            yield f"Job {job.name}: none of its first {counted(job.pods, 'pod')} starts in this time."
        else:
            text = f"from {wait_text(starts[0])} to {wait_text(starts[-1])} from now"
            expected = job.pods * last.simulations
            yield f"Job {job.name}: {len(starts)} of {expected} of its first pods start, {text}."
    unknown = list(dict.fromkeys(name for one in row.outcomes for name in one.unknown_runtimes))
    if unknown:
        yield f"No runtime is known for {first_few(unknown)}: they run to the end, and their queues look fuller."
    change = "" if len(row.outcomes) > 1 else " Nothing was changed: see --change and -f."
    yield f"At {row.time}: {counted(last.simulations, 'simulation')}.{change}"
