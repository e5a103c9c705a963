"""What became of pods, from the history: those that were created last first, a page at a time."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from controller.extension_api.queueing.history_reads import HistoryReads
from controller.extension_api.resources import Column, Entry, Page, Query, Resource
from controller.extension_api.statuses import Refused
from controller.history.run_rows import RunRow, run_row
from controller.history.runs import STATES
from controller.history.times import FORMS, read_time
from controller.history.usage_columns import Span, UsageColumn
from controller.history.wanted import FoundRun, Position, Wanted, Where
from controller.kube import clock
from controller.visibility.start_rows import wait_text

PLURAL: Final = "podruns"
MOST: Final = 500
"""Runs of one answer: the rest is for further pages."""
USUAL_FROM: Final = "7d"
_DIGITS: Final = 19
"""Of a number that databases take."""
_PARAMETERS: Final = {
    "from": f"Of pods that were there from this time on: {FORMS}; by default {USUAL_FROM}.",
    "to": "Of pods that were created before this time; by default now.",
    "queue": "Of this LocalQueue; may be repeated, as the next two.",
    "user": "Of this user.",
    "state": f"In this state: {', '.join(STATES)}.",
    "target": "Of one pod or owner: pod/NAME, job/NAME, group/NAME or another owner, in lower case.",
}
_COLUMNS: tuple[Column[RunRow], ...] = (
    Column("Pod", lambda row: row.name, "Its name."),
    Column("Queue", lambda row: row.local_queue, "The LocalQueue that it named."),
    Column("Flavor", lambda row: row.flavor, "Onto which flavor it was admitted."),
    Column("Created", lambda row: row.created, "When it was created."),
    Column("Waited", lambda row: wait_text(row.waited), "From the creation to the admission."),
    Column("Ran", lambda row: wait_text(row.ran) if row.started else "", "From its start to its end, or until now."),
    Column("State", lambda row: row.state, f"One of {', '.join(STATES)}."),
    Column("Reason", lambda row: row.reason, "Why it waits, or why it was evicted."),
    Column("Owner", lambda row: row.owner, "Its controller.", is_wide=True),
    Column("ClusterQueue", lambda row: row.cluster_queue, "Where its quota came from.", is_wide=True),
    Column("User", lambda row: row.user, "Who created it.", is_wide=True),
    Column("Node", lambda row: row.node, "Where it ran.", is_wide=True),
)


def pod_runs(reads: HistoryReads) -> Resource:
    """Return runs as a resource; each is named as the uid of its pod."""
    runs = _PodRuns(reads)
    return Resource(
        plural=PLURAL,
        singular="podrun",
        kind="PodRun",
        is_namespaced=True,
        item=RunRow,
        columns=_COLUMNS,
        list=runs.list,
        get=runs.get,
        namespaces=runs.namespaces,
        parameters=_PARAMETERS,
        most=MOST,
    )


class _PodRuns:
    def __init__(self, reads: HistoryReads) -> None:
        self._reads = reads

    async def namespaces(self) -> Collection[str]:
        return await self._reads.make(lambda reader: reader.namespaces())

    async def list(self, query: Query) -> Page:
        """One run more than is asked for says whether there is another page."""
        now = int(clock.now())
        wanted, after = _wanted(query, now), _position(query.after)
        if not wanted.where.get(UsageColumn.NAMESPACE):
            return Page([])
        found = await self._reads.make(lambda reader: reader.find(wanted, most=query.limit + 1, after=after))
        shown = found[: query.limit]
        end = "{}.{}".format(*shown[-1].position) if len(found) > len(shown) else ""
        return Page([_entry(one, now) for one in shown], end)

    async def get(self, query: Query) -> Entry | None:
        now = int(clock.now())
        where = {UsageColumn.NAMESPACE: (query.namespace,)}
        wanted = Wanted(Span(0, now + 1), where, uid=query.name)
        found = await self._reads.make(lambda reader: reader.find(wanted, most=1))
        return _entry(found[0], now) if found else None


def _entry(found: FoundRun, now: int) -> Entry:
    return Entry(found.run.uid, found.run.charged_to.namespace, run_row(found, now))


def _wanted(query: Query, now: int) -> Wanted:
    given = query.parameters
    span = Span(_time(given, "from", USUAL_FROM, now), _time(given, "to", "now", now))
    states = given.get("state", ())
    unknown = [one for one in states if one not in STATES]
    if unknown:
        raise Refused(400, f"parameter state={unknown[0]}: choose one of {', '.join(STATES)}")
    kind, _, name = _one(given, "target", "").rpartition("/")
    namespaces = (query.namespace,) if query.namespace else query.namespaces
    where: Where = {
        UsageColumn.NAMESPACE: namespaces,
        **_named(UsageColumn.LOCAL_QUEUE, given.get("queue", ())),
        **_named(UsageColumn.USER, given.get("user", ())),
    }
    return Wanted(span, where, states, kind.lower() or "pod", name)


def _named(column: UsageColumn, values: Sequence[str]) -> Where:
    return {column: values} if values else {}


def _one(given: Mapping[str, Sequence[str]], name: str, usual: str) -> str:
    values = given.get(name) or (usual,)
    if len(values) > 1:
        raise Refused(400, f"parameter {name} stands there {len(values)} times; write it once")
    return values[0]


def _time(given: Mapping[str, Sequence[str]], name: str, usual: str, now: int) -> int:
    text = _one(given, name, usual)
    try:
        return read_time(text, now)
    except ValueError:
        raise Refused(400, f"parameter {name}={text}: write {FORMS}") from None


def _position(after: str) -> Position | None:
    """Read where the page before ended; the token was written by us, though perhaps for another resource."""
    created, _, number = after.partition(".")
    is_ours = all(one.isdecimal() and len(one) < _DIGITS for one in (created, number))
    return (int(created), int(number)) if is_ours else None
