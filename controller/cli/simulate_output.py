"""What `penstock simulate` prints: before and after, in tables for people and as a document for programs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from controller.cli.counts import counted
from controller.cli.output import plain_table, show_document
from controller.core.kubernetes.amounts import PODS
from controller.core.kubernetes.owners import Job
from controller.core.reasons import first_few
from controller.kube.clock import rfc3339
from controller.simulator.measurements import Outcome, Waits
from controller.visibility.start_rows import wait_text

_WAITS = ("MEDIAN WAIT", "P90 WAIT", "STARTED", "WAITING")
_PARTS = (("median", 0.5), ("p90", 0.9))


def show(outcomes: Sequence[Outcome], now: float, jobs: Iterable[Job], output: str) -> None:
    """Print outcomes before and after, or alone, as a table, json or yaml; `jobs` are those that were added."""
    if output == "table":
        _show_tables(outcomes, now, jobs)
    else:
        show_document(_document(outcomes, now), output)


def _document(outcomes: Sequence[Outcome], now: float) -> dict[str, Any]:
    """Return what programs read: waits in seconds, counts and cost of one simulation in the mean."""
    names = ("before", "after")[: len(outcomes)]
    return {"time": rfc3339(now), **{name: _outcome(one, now) for name, one in zip(names, outcomes, strict=True)}}


def _outcome(outcome: Outcome, now: float) -> dict[str, Any]:
    runs = max(1, outcome.runs)
    return {
        "simulations": outcome.runs,
        "clusterQueues": {
            name: {
                **_waits(waits, runs),
                "ended": outcome.ended.get(name, 0) / runs,
                "preempted": outcome.preempted.get(name, 0) / runs,
                "evicted": outcome.evicted.get(name, 0) / runs,
                "cost": round(outcome.cost.get(name, 0.0) / runs, 3),
            }
            for name, waits in sorted(outcome.by_queue.items())
        },
        "users": {name: _waits(waits, runs) for name, waits in sorted(outcome.by_user.items())},
        "utilisation": [
            {"flavor": column[0], "resource": column[1], "part": round(outcome.utilisation(column) or 0.0, 4)}
            for column in sorted(outcome.capacity)
        ],
        "starts": {name: [at - now for at in sorted(starts)] for name, starts in sorted(outcome.starts.items())},
        "unknownRuntimes": sorted(outcome.unknown),
    }


def _waits(waits: Waits, runs: int) -> dict[str, Any]:
    quantiles = {name: waits.quantile(part) for name, part in _PARTS}
    return {"started": len(waits.started) / runs, "waiting": len(waits.waiting) / runs, **quantiles}


def _show_tables(outcomes: Sequence[Outcome], now: float, jobs: Iterable[Job]) -> None:
    """Print before and after side by side; one alone where nothing was changed."""
    console = Console()
    console.print(_queues(outcomes))
    console.print(_users(outcomes))
    console.print(_flavors(outcomes))
    for line in _sentences(outcomes, now, jobs):
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def _queues(outcomes: Sequence[Outcome]) -> Table:
    """Those that preempt nobody and cost nothing have no columns of that."""
    is_any_preempted = any(one.preempted for one in outcomes)
    costs = any(any(one.cost.values()) for one in outcomes)
    rows = []
    for name in _names(one.by_queue for one in outcomes):
        row = [name or "(none)", *_waits_cells(outcomes, [one.by_queue.get(name) for one in outcomes])]
        if is_any_preempted:
            row.append(_cell(_per_run(one, one.preempted.get(name, 0)) for one in outcomes))
        if costs:
            row.append(_cell(_per_run(one, one.cost.get(name, 0.0), 2) for one in outcomes))
        rows.append(row)
    more = [*(["PREEMPTED"] if is_any_preempted else []), *(["COST"] if costs else [])]
    return plain_table(("CLUSTERQUEUE", *_WAITS, *more), rows)


def _users(outcomes: Sequence[Outcome]) -> Table:
    names = _names(one.by_user for one in outcomes)
    rows = [(name, *_waits_cells(outcomes, [one.by_user.get(name) for one in outcomes])) for name in names]
    return plain_table(("USER", *_WAITS), rows)


def _flavors(outcomes: Sequence[Outcome]) -> Table:
    """Of what is used at all, but the number of pods."""
    columns = sorted({one for outcome in outcomes for one, used in outcome.used.items() if used and one[1] != PODS})
    rows = [(*column, _cell(_percent(one.utilisation(column)) for one in outcomes)) for column in columns]
    return plain_table(("FLAVOR", "RESOURCE", "USED"), rows)


def _names(each: Iterable[Mapping[str, object]]) -> list[str]:
    return sorted({name for one in each for name in one})


def _waits_cells(outcomes: Sequence[Outcome], each: Sequence[Waits | None]) -> tuple[str, ...]:
    quantiles = (
        _cell("-" if one is None or (wait := one.quantile(part)) is None else wait_text(wait) for one in each)
        for _, part in _PARTS
    )
    pairs = list(zip(outcomes, each, strict=True))
    started = _cell(_per_run(outcome, len(one.started) if one is not None else 0) for outcome, one in pairs)
    waiting = _cell(_per_run(outcome, len(one.waiting) if one is not None else 0) for outcome, one in pairs)
    return (*quantiles, started, waiting)


def _cell(values: Iterable[str]) -> str:
    """Write what is before and after, once where both are the same."""
    return " -> ".join(dict.fromkeys(values))


def _per_run(outcome: Outcome, total: float, digits: int = 0) -> str:
    return f"{total / max(1, outcome.runs):.{digits}f}"


def _percent(part: float | None) -> str:
    return "-" if part is None else f"{100 * part:.0f}%"


def _sentences(outcomes: Sequence[Outcome], now: float, jobs: Iterable[Job]) -> Iterable[str]:
    last = outcomes[-1]
    for job in jobs:
        starts = sorted(
            at - now for name, found in last.starts.items() if name.startswith(f"{job.key}-") for at in found
        )
        expected = job.most * last.runs
        if not starts:
            yield f"Job {job.key}: none of its first {job.most} pods starts in this time."
        else:
            text = f"from {wait_text(starts[0])} to {wait_text(starts[-1])} from now"
            yield f"Job {job.key}: {len(starts)} of {expected} of its first pods start, {text}."
    unknown = list(dict.fromkeys(name for one in outcomes for name in one.unknown))
    if unknown:
        yield f"No runtime is known for {first_few(unknown)}: they run to the end, and their queues look fuller."
    change = "" if len(outcomes) > 1 else " Nothing was changed: see --change and -f."
    yield f"At {rfc3339(now)}: {counted(last.runs, 'simulation')}.{change}"
