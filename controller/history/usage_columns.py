"""What usage is summed by, and the times that it is split into. No database is needed for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from controller.core.budgets.periods import Period
from controller.core.kubernetes.names import is_label_key


class UsageColumn(StrEnum):
    """What usage can be summed by, and narrowed to."""

    NAMESPACE = "namespace"
    LOCAL_QUEUE = "localQueue"
    CLUSTER_QUEUE = "clusterQueue"
    FLAVOR = "flavor"
    USER = "user"


LABEL: Final = "label:"
"""What the sum by a label of pods begins with, before the key of the label."""
BY: Final = f"{', '.join(UsageColumn)}, or {LABEL}KEY for a label that the history keeps"


def read_by(text: str) -> str:
    """Return what usage is summed by: a UsageColumn, or a label. Raises ValueError for what is neither."""
    key = label_of(text)
    if key:
        if not is_label_key(key):
            raise ValueError(f"{key!r} is no key of a label")
        return text
    return UsageColumn(text).value


def label_of(by: str) -> str:
    """Return the key of the label that usage is summed by; empty: it is summed by a column."""
    return by.removeprefix(LABEL) if by.startswith(LABEL) else ""


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
