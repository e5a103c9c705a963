"""`penstock replay`: reads a file, decides on it and prints. What the plan means is `replay.outcome`'s business."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterator
from typing import Any

import click
import yaml
from rich.console import Console
from rich.progress import track as progress

from controller.cli.counts import counted
from controller.cli.output import instead_of, plain_table, show_document
from controller.cli.snapshot_input import read_data, refusing, telling_faults
from controller.core.decision.decide import decide
from controller.core.workloads.pods import Pod
from controller.kube.clock import rfc3339
from controller.replay.decision_log import Decided, is_log, read_log
from controller.replay.outcome import Admission, Eviction, Outcome, Row, Waiting, outcome_of, stands
from controller.replay.plan_document import Json
from controller.replay.snapshot_file import from_bytes


@click.command()
@click.argument("file", metavar="FILE")
@click.option("--pod", metavar="NAMESPACE/NAME", help="Show only this pod, with its whole message.")
@click.option("-o", "--output", type=click.Choice(["table", "json", "yaml"]), default="table", show_default=True)
def replay(file: str, pod: str | None, output: str) -> int:
    """Make the decision of a `penstock snapshot` file again, as the controller would; - reads stdin.

    For a file of decisions that a controller recorded (its option --record-decisions), the command makes all of them
    again, and shows the first that differs, and where.

    Shows which workloads would be admitted, in order, which would be evicted and why, and why the others wait. The
    command needs no cluster.

    The decision has no limit on admissions, and lacks what only a running controller remembers; `penstock snapshot
    --help` lists that.

    Exit code: 0 there is an answer, 1 the file is no snapshot, has no such pod, or a decision differs, 130 interrupted.

    \b
    Example:
      penstock replay now.json.gz
      penstock replay now.json.gz --pod team-a/train-7
      penstock snapshot | penstock replay - -o json
    """
    data = read_data(file)
    if is_log(data):
        return _compare(file, data, pod, output)
    with refusing(file):
        saved = from_bytes(data)
    named = {one.key: one for one in saved.running.pods.values()}
    if pod is not None and pod not in named:
        raise click.ClickException(f"{file}: has no pod {pod}{instead_of(pod, named)}")
    with telling_faults(file):
        outcome = outcome_of(saved, decide(saved, limit=sys.maxsize))
    if output != "table":
        show_document(_document(outcome) if pod is None else _of_pod(outcome, named[pod]), output)
    elif pod is None:
        _show_table(outcome)
    else:
        click.echo(_sentence(outcome, named[pod]))
    return 0


def _compare(file: str, data: bytes, pod: str | None, output: str) -> int:
    """Make recorded decisions again; return the exit code."""
    if pod is not None or output != "table":
        raise click.UsageError(f"{file} has recorded decisions: --pod and -o are for a snapshot")
    count = 0
    with refusing(file), telling_faults(file):
        for count, recorded in enumerate(_tracked(file, data), start=1):
            found = recorded.again()
            if found != recorded.plan:
                click.echo(f"Decision {count}, at {rfc3339(recorded.snapshot.now)}, comes out otherwise:")
                click.echo("\n".join(_differences(recorded.plan, found)))
                return 1
    click.echo(f"{counted(count, 'decision')}: each comes out as it was recorded.")
    return 0


def _tracked(file: str, data: bytes) -> Iterator[Decided]:
    """Yield the decisions; on a terminal show how far it is."""
    total = data.count(b"\n") - 1
    console = Console(stderr=True)
    yield from progress(read_log(data), description=file, total=total, console=console, disable=not console.is_terminal)


def _differences(recorded: Json, found: Json) -> Iterator[str]:
    """Yield the lines that differ, - as recorded and + as it is now."""
    before, now = (yaml.safe_dump(one, sort_keys=False, width=120).splitlines() for one in (recorded, found))
    yield from list(difflib.unified_diff(before, now, "recorded", "now", lineterm="", n=1))


# -- for programs --------------------------------------------------------------------------------------------------


def _document(outcome: Outcome) -> dict[str, Any]:
    return {
        "time": outcome.at,
        "complete": outcome.is_complete,
        "admitted": [_row(one) for one in outcome.admissions],
        "evicted": [_row(one) for one in outcome.evictions],
        "waiting": [_row(one) for one in outcome.waiting],
        "reasons": {reason.value: len(those) for reason, those in outcome.by_reason.items()},
    }


def _row(one: Row) -> dict[str, Any]:
    match one:
        case Admission():
            flavors = list(one.flavors)
            return {"pod": one.pod, "clusterQueue": one.cluster_queue, "flavors": flavors, "node": one.node}
        case Eviction():
            return {"pod": one.pod, "cause": one.cause.value, "message": one.text}
        case Waiting():
            queues = {"localQueue": one.local_queue, "clusterQueue": one.cluster_queue or None}
            return {"pod": one.pod, **queues, "reason": one.reason.value, "message": one.text}


def _of_pod(outcome: Outcome, pod: Pod) -> dict[str, Any]:
    found = outcome.of(pod.key)
    if found is None:
        return {"pod": pod.key, "becomes": "Unchanged", "message": stands(pod)}
    becomes = {Admission: "Admitted", Eviction: "Evicted", Waiting: "Waiting"}[type(found)]
    return {"pod": pod.key, "becomes": becomes, **_row(found)}


# -- for people ----------------------------------------------------------------------------------------------------


def _sentence(outcome: Outcome, pod: Pod) -> str:
    found = outcome.of(pod.key)
    return f"{pod.key} {stands(pod) if found is None else found.sentence}"


def _show_table(outcome: Outcome) -> None:
    console = Console()
    if outcome.admissions:
        rows = [
            (str(number), one.pod, one.cluster_queue, ", ".join(one.flavors), one.node or "-")
            for number, one in enumerate(outcome.admissions, start=1)
        ]
        console.print(plain_table(("", "ADMITTED", "CLUSTERQUEUE", "FLAVOR", "NODE"), rows), crop=False)
    if outcome.evictions:
        evicted = [(one.pod, one.cause.value, one.text) for one in outcome.evictions]
        console.print(plain_table(("EVICTED", "CAUSE", "WHY"), evicted), crop=False)
    if outcome.waiting:
        waiting = [
            (reason.value, str(len(those)), those[0].pod, those[0].text) for reason, those in outcome.by_reason.items()
        ]
        console.print(plain_table(("WAITING FOR", "PODS", "FIRST", "WHY"), waiting), crop=False)
    console.print(_summary(outcome), markup=False, highlight=False, soft_wrap=True)


def _summary(outcome: Outcome) -> str:
    counts = f"{len(outcome.admissions)} admitted, {len(outcome.evictions)} evicted, {len(outcome.waiting)} waiting"
    more = "" if outcome.is_complete else " The controller would decide again at once: room that was held came free."
    return f"At {outcome.at}: {counts}.{more}"
