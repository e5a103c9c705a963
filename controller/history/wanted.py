"""What is asked of the history: which runs, or what was used by whom. No database is needed to say it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from controller.core.budgets.periods import CalendarPeriod
from controller.history.runs import Run
from controller.history.usage_columns import Span, UsageColumn
from controller.history.used import Used

Where = Mapping[UsageColumn, Collection[str]]
"""Of these queues, users and so on; of what is not named, of all."""
Position = tuple[int, int]
"""Where a run stands among all: when it was created, and its number."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which runs: that were there in a time; of these queues, users and so on; of a pod or an owner.

    `kind` in lower case and `name` are what people name; empty: of all. `states` empty: in any (`runs.state_of`).
    `uid` is that of the pod of one run; empty: of all.
    """

    span: Span
    where: Where = field(default_factory=dict)
    states: Collection[str] = ()
    kind: str = ""
    name: str = ""
    uid: str = ""


@dataclass(frozen=True, slots=True)
class FoundRun:
    """A run, where it stands, for how many seconds it has waited for each reason, and what it used; None: unknown."""

    run: Run
    position: Position
    waited: Mapping[str, int]
    used: Used | None = None


@dataclass(frozen=True, slots=True)
class WantedUsage:
    """What was used in a time, summed by these (`usage_columns.read_by`); `period` None: in all of it at once."""

    span: Span
    by: Sequence[str]
    where: Where = field(default_factory=dict)
    period: CalendarPeriod | None = None
