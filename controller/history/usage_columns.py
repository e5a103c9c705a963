"""What usage is summed by, and the times that it is split into. No database is needed for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from controller.core.budgets.periods import Period


class UsageColumn(StrEnum):
    """What usage can be summed by, and narrowed to."""

    NAMESPACE = "namespace"
    LOCAL_QUEUE = "localQueue"
    CLUSTER_QUEUE = "clusterQueue"
    FLAVOR = "flavor"
    USER = "user"


@dataclass(frozen=True, slots=True)
class Span:
    """From a time on and up to another, in whole seconds since 1970."""

    begin: int
    end: int


def split(span: Span, period: Period | None) -> Iterator[Span]:
    """Yield the parts of a time that lie in one period each, the first and the last cut off; None: all of it."""
    begin = span.begin
    while begin < span.end:
        end = span.end if period is None else min(span.end, period.slice_of(begin)[1])
        yield Span(begin, end)
        begin = end
