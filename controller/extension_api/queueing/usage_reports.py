"""What was used in a time, from the history: who creates a UsageReport gets hours and money by who used them.

One is of a namespace, for who may list the pods there. The other is of the whole cluster, and names everybody's
namespaces and users: a right of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import Annotated, Any, Final

from msgspec import Meta, Struct, field

from controller.api.time_zones import is_zone, load_zone
from controller.core.budgets.periods import CalendarPeriod, CalendarUnit
from controller.extension_api.queueing.history_reads import HistoryReads
from controller.extension_api.resources import Creation, Entry, Question, Resource
from controller.extension_api.statuses import Fault, invalid
from controller.history.times import FORMS, read_time
from controller.history.usage_columns import BY, Span, UsageColumn, read_by, split
from controller.history.usage_rows import UsageRow
from controller.history.wanted import WantedUsage
from controller.kube import clock
from controller.kube.clock import rfc3339

KIND: Final = "UsageReport"
PLURAL: Final = "usagereports"
CLUSTER_KIND: Final = "ClusterUsageReport"
CLUSTER_PLURAL: Final = "clusterusagereports"
MOST_PERIODS: Final = 400
MOST_ROWS: Final = 20_000
_PER: Final = tuple(unit.lower() for unit in CalendarUnit)
_Names = Annotated[tuple[str, ...], Meta(max_length=100)]


class UsageReportSpec(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """What is added up, as the options of `penstock usage` say it."""

    begin: Annotated[str, Meta(description=f"From this time on: {FORMS}; 30d.")] = field(default="30d", name="from")
    end: Annotated[str, Meta(description=f"Up to this time: {FORMS}; now.")] = field(default="now", name="to")
    by: Annotated[
        tuple[str, ...], Meta(min_length=1, max_length=5, description=f"Sums by these: {BY}; clusterQueue.")
    ] = (UsageColumn.CLUSTER_QUEUE.value,)
    per: Annotated[str, Meta(description=f"Rows for each {', '.join(_PER)}; empty: for all of the time.")] = ""
    zone: Annotated[str, Meta(description="Where days begin at midnight, such as Europe/Berlin; UTC.")] = "UTC"
    queues: Annotated[_Names, Meta(description="Of these ClusterQueues alone, at most 100; empty: of all.")] = ()
    users: Annotated[_Names, Meta(description="Of these users alone, at most 100; empty: of all.")] = ()
    flavors: Annotated[_Names, Meta(description="Of these flavors alone, at most 100; empty: of all.")] = ()


class ClusterUsageReportSpec(UsageReportSpec, frozen=True, rename="camel", forbid_unknown_fields=True):
    """What is added up, of all namespaces or of some, as the options of `penstock usage` say it."""

    namespaces: Annotated[_Names, Meta(description="Of these namespaces alone, at most 100; empty: of all.")] = ()


class UsageReportRow(Struct, frozen=True, rename="camel"):
    """What was used from `begin` to `end`: rows as `penstock usage -o json` prints them."""

    begin: str
    end: str
    rows: list[UsageRow]


def usage_reports(reads: HistoryReads) -> tuple[Resource, Resource]:
    """Return the resource of namespaces and that of the cluster, which can only be created."""
    answer = _answering(reads)
    of_namespace = Resource(
        plural=PLURAL,
        singular="usagereport",
        kind=KIND,
        is_namespaced=True,
        item=UsageReportRow,
        create=Creation(spec=UsageReportSpec, names=_no_names, answer=answer),
    )
    of_cluster = Resource(
        plural=CLUSTER_PLURAL,
        singular="clusterusagereport",
        kind=CLUSTER_KIND,
        is_namespaced=False,
        item=UsageReportRow,
        create=Creation(spec=ClusterUsageReportSpec, names=_no_names, answer=answer),
    )
    return of_namespace, of_cluster


def _no_names(spec: Any) -> frozenset[str]:
    """Return no namespace: that of the request is asked for anyway, and the cluster's report is of all."""
    del spec
    return frozenset()


def _answering(reads: HistoryReads) -> Callable[[Question], Awaitable[Entry]]:
    async def answer(question: Question) -> Entry:
        now = int(clock.now())
        reading = _Reading(question)
        # zones are read from files
        wanted = await asyncio.to_thread(reading.wanted, now)
        rows = await reads.make(lambda reader: reader.usage(wanted, now=now))
        if len(rows) > MOST_ROWS:
            raise reading.invalid("by", f"{len(rows)} rows are more than {MOST_ROWS}: sum by less, or of less")
        return Entry("", "", UsageReportRow(rfc3339(wanted.span.begin), rfc3339(wanted.span.end), rows))

    return answer


class _Reading:
    """Reads what is asked. Every method raises Refused, 422."""

    def __init__(self, question: Question) -> None:
        self._question = question
        self._spec: UsageReportSpec = question.spec

    def wanted(self, now: int) -> WantedUsage:
        spec = self._spec
        span = Span(self._time("from", spec.begin, now), self._time("to", spec.end, now))
        if span.end <= span.begin:
            raise self.invalid("to", f"Invalid value: {spec.end!r}: is not after spec.from, {rfc3339(span.begin)}")
        by = [self._by(number, one) for number, one in enumerate(spec.by)]
        return WantedUsage(span, by, dict(self._where()), self._period(span))

    def invalid(self, name: str, text: str) -> Exception:
        """Say what is wrong with a field."""
        kind = KIND if self._question.namespace else CLUSTER_KIND
        return invalid(kind, self._question.name, [Fault(f"spec.{name}", text)])

    def _time(self, name: str, text: str, now: int) -> int:
        try:
            return read_time(text, now)
        except ValueError:
            raise self.invalid(name, f"Invalid value: {text!r}: write {FORMS}") from None

    def _by(self, number: int, text: str) -> str:
        try:
            return read_by(text)
        except ValueError:
            raise self.invalid(f"by[{number}]", f"Unsupported value: {text!r}: choose one of {BY}") from None

    def _where(self) -> Iterator[tuple[UsageColumn, tuple[str, ...]]]:
        spec = self._spec
        if self._question.namespace:
            yield UsageColumn.NAMESPACE, (self._question.namespace,)
        elif isinstance(spec, ClusterUsageReportSpec) and spec.namespaces:
            yield UsageColumn.NAMESPACE, spec.namespaces
        named = ((UsageColumn.CLUSTER_QUEUE, spec.queues), (UsageColumn.USER, spec.users))
        for column, values in (*named, (UsageColumn.FLAVOR, spec.flavors)):
            if values:
                yield column, values

    def _period(self, span: Span) -> CalendarPeriod | None:
        spec = self._spec
        if not is_zone(spec.zone):
            raise self.invalid("zone", f"Invalid value: {spec.zone!r}: is no zone of IANA; write it as Europe/Berlin")
        if not spec.per:
            return None
        if spec.per not in _PER:
            raise self.invalid("per", f"Unsupported value: {spec.per!r}: choose one of {', '.join(_PER)}")
        period = CalendarPeriod(CalendarUnit(spec.per.capitalize()), load_zone(spec.zone), spec.zone)
        for number, _ in enumerate(split(span, period)):
            if number >= MOST_PERIODS:
                raise self.invalid("per", f"this time has more than {MOST_PERIODS} of a {spec.per}: choose longer ones")
        return period
