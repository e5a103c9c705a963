"""`penstock replay`: reads a file, decides on it and prints. What the plan means is `replay.outcome`'s business."""

from __future__ import annotations

import difflib
import sys
import traceback
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import orjson
import yaml
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from controller.core.decision.decide import decide
from controller.core.workloads.pods import Pod
from controller.core.world.snapshot import Snapshot
from controller.kube.errors import one_line
from controller.replay.outcome import Admission, Eviction, Outcome, Row, Waiting, outcome_of, stands
from controller.replay.packing import unpacked
from controller.replay.snapshot_file import SnapshotFileError, from_bytes

_STDIN = "-"


@click.command()
@click.argument("file", metavar="FILE")
@click.option("--pod", metavar="NAMESPACE/NAME", help="Say of this pod alone what becomes of it, in a whole sentence.")
@click.option("-o", "--output", type=click.Choice(["table", "json", "yaml"]), default="table", show_default=True)
def replay(file: str, pod: str | None, output: str) -> None:
    """Decide on a file of `penstock snapshot`, plain or packed, as the controller would; - reads stdin.

    Shows who would be admitted, in order, who would be evicted and why, and why the others wait. No cluster is asked.

    It is one decision without a limit on admissions, and without the memory of a running controller, which no file of
    a cluster has; `penstock snapshot --help` says what that is.

    Exit code: 0 there is an answer, 1 the file is no snapshot or has no such pod, 130 interrupted.

    \b
    Example:
      penstock replay now.json.gz
      penstock replay now.json.gz --pod team-a/train-7
      penstock snapshot | penstock replay - -o json
    """
    saved = _read(file)
    named = {one.key: one for one in saved.pods.values()}
    if pod is not None and pod not in named:
        raise click.ClickException(f"{file}: has no pod {pod}{_instead(pod, named)}")
    outcome = _decided(file, saved)
    if output != "table":
        _show(_document(outcome) if pod is None else _of_pod(outcome, named[pod]), output)
    elif pod is None:
        _show_table(outcome)
    else:
        click.echo(_sentence(outcome, named[pod]))


def _read(file: str) -> Snapshot:
    try:
        data = sys.stdin.buffer.read() if file == _STDIN else Path(file).read_bytes()
    except OSError as error:
        raise click.ClickException(f"{file}: cannot be read: {error.strerror or one_line(error)}") from None
    try:
        return from_bytes(unpacked(data))
    except SnapshotFileError as error:
        raise click.ClickException(f"{'stdin' if file == _STDIN else file}: {one_line(error)}") from None


def _decided(file: str, saved: Snapshot) -> Outcome:
    """Decide. What fails at that says where, on one line: files may have been written by hand."""
    try:
        return outcome_of(saved, decide(saved, limit=sys.maxsize))
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        *_, last = traceback.extract_tb(error.__traceback__)
        told = f"{type(error).__name__}: {one_line(error)} ({Path(last.filename).name}, line {last.lineno})"
        raise click.ClickException(
            f"{file}: cannot be decided on: {told}; the file contradicts itself, or else Penstock is at fault: "
            "report it, with the file"
        ) from None


def _instead(pod: str, named: Mapping[str, Pod]) -> str:
    """Propose what may have been meant: the same name elsewhere, else something like it."""
    namesakes = [one for one in named if one.endswith(f"/{pod.rpartition('/')[-1]}")]
    similar = namesakes or difflib.get_close_matches(pod, named, n=1)
    return f"; did you mean {similar[0]}?" if similar else "; pods are named NAMESPACE/NAME"


# -- for programs --------------------------------------------------------------------------------------------------


def _show(document: dict[str, Any], output: str) -> None:
    if output == "json":
        click.echo(orjson.dumps(document, option=orjson.OPT_INDENT_2))
    else:
        click.echo(yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=120), nl=False)


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
        console.print(_table(("", "ADMITTED", "CLUSTERQUEUE", "FLAVOR", "NODE"), rows))
    if outcome.evictions:
        evicted = [(one.pod, one.cause.value, one.text) for one in outcome.evictions]
        console.print(_table(("EVICTED", "CAUSE", "WHY"), evicted))
    if outcome.waiting:
        waiting = [
            (reason.value, str(len(those)), those[0].pod, those[0].text) for reason, those in outcome.by_reason.items()
        ]
        console.print(_table(("WAITING FOR", "PODS", "FIRST", "WHY"), waiting))
    console.print(_summary(outcome), markup=False, highlight=False, soft_wrap=True)


def _table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    for heading in headings:
        table.add_column(heading, overflow="fold")
    for row in rows:
        # Text: names and labels may hold what rich takes for markup
        table.add_row(*map(Text, row))
    return table


def _summary(outcome: Outcome) -> str:
    counts = f"{len(outcome.admissions)} admitted, {len(outcome.evictions)} evicted, {len(outcome.waiting)} waiting"
    more = "" if outcome.is_complete else " The controller would decide again at once: room that was held came free."
    return f"At {outcome.at}: {counts}.{more}"
