"""Runs as they are looked up: the latest first, with how long each has waited for what."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from sqlalchemy import ColumnElement, RowMapping, and_, func, or_, select, tuple_

from controller.history.runs import Outcome, State
from controller.history.schema import charged_to, runs, samples, waits
from controller.history.store import RUN_COLUMNS, Store, run_of_row
from controller.history.usage_columns import UsageColumn
from controller.history.used import SAMPLED, Used
from controller.history.wanted import FoundRun, Position, Wanted

_AT_ONCE: Final = 500
CHARGED: Final = {
    UsageColumn.NAMESPACE: charged_to.c.namespace,
    UsageColumn.LOCAL_QUEUE: charged_to.c.local_queue,
    UsageColumn.CLUSTER_QUEUE: charged_to.c.cluster_queue,
    UsageColumn.FLAVOR: charged_to.c.flavor,
    UsageColumn.USER: charged_to.c.username,
}
_GOES_ON: Final = runs.c.outcome == Outcome.GOES_ON.value
_STATES: Final[Mapping[str, ColumnElement[bool]]] = {
    State.PENDING: and_(_GOES_ON, runs.c.admitted == 0, runs.c.started == 0),
    State.ADMITTED: and_(_GOES_ON, runs.c.admitted > 0, runs.c.started == 0),
    State.RUNNING: and_(_GOES_ON, runs.c.started > 0),
    **{one.value: runs.c.outcome == one.value for one in Outcome if one},
}


def find_runs(store: Store, wanted: Wanted, *, most: int, after: Position | None = None) -> list[FoundRun]:
    """Return so many runs, those that were created last first; `after`: behind this place. Raises HistoryError."""
    joined = runs.join(charged_to, runs.c.charged_to == charged_to.c.id)
    query = select(runs.c.id, *RUN_COLUMNS).select_from(joined).where(*_conditions(wanted))
    if after is not None:
        query = query.where(tuple_(runs.c.created, runs.c.id) < tuple_(*after))
    with store.connection() as connection:
        found = connection.execute(query.order_by(runs.c.created.desc(), runs.c.id.desc()).limit(most)).mappings().all()
        waited: dict[int, dict[str, int]] = defaultdict(dict)
        sampled: dict[int, Used] = defaultdict(Used)
        for part in _parts([row["id"] for row in found]):
            for row in connection.execute(select(waits).where(waits.c.run.in_(part)).order_by(waits.c.reason)):
                waited[row.run][row.reason] = row.seconds
            for one in connection.execute(select(samples).where(samples.c.run.in_(part))).mappings():
                _add(sampled[one["run"]], one)
    return [
        FoundRun(run_of_row(row), (row["created"], row["id"]), waited[row["id"]], sampled.get(row["id"]))
        for row in found
    ]


def _add(total: Used, row: RowMapping) -> None:
    """Add the samples of one process to those of others."""
    total.samples += row["samples"]
    for name in SAMPLED:
        total.sums[name] = total.sums.get(name, 0) + row[f"{name}_sum"]
        total.peaks[name] = max(total.peaks.get(name, 0), row[f"{name}_peak"])


def namespaces(store: Store) -> frozenset[str]:
    """Return the namespaces of which there are runs. Raises HistoryError."""
    with store.connection() as connection:
        return frozenset(connection.execute(select(charged_to.c.namespace).distinct()).scalars())


def _conditions(wanted: Wanted) -> Iterator[ColumnElement[bool]]:
    span = wanted.span
    yield and_(runs.c.created < span.end, or_(runs.c.ended == 0, runs.c.ended >= span.begin))
    for column, values in wanted.where.items():
        yield CHARGED[column].in_(list(values))
    if wanted.states:
        yield or_(*(_STATES[one] for one in wanted.states))
    if wanted.uid:
        yield runs.c.uid == wanted.uid
    if wanted.name:
        match wanted.kind:
            case "pod":
                yield runs.c.name == wanted.name
            case "group":
                yield runs.c.group == wanted.name
            case _:
                kind = wanted.kind.partition(".")[0]
                yield and_(runs.c.owner == wanted.name, func.lower(runs.c.owner_kind) == kind)


def _parts(ids: Sequence[int]) -> Iterator[Sequence[int]]:
    return (ids[begin : begin + _AT_ONCE] for begin in range(0, len(ids), _AT_ONCE))
