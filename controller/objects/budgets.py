"""Budgets as written (`controller.api.budget`) to what is counted by, and sums to and from a status."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from controller.api.budget import Budget as WrittenBudget
from controller.api.time_zones import load_zone
from controller.core.budgets.budget import AtEnd, Budget, hours_of, money
from controller.core.budgets.periods import CalendarPeriod, CalendarUnit, Period, SlidingPeriod
from controller.core.budgets.tally import Memory
from controller.core.calendar.durations import parse_duration
from controller.kube.clock import epoch, rfc3339

_DEFAULT_ZONE: Final = "UTC"


@dataclass(frozen=True, slots=True)
class Remembered:
    """A sum as a status keeps it, and of what it is the sum (`Budget.key`)."""

    key: str
    memory: Memory


def to_budget(written: WrittenBudget) -> Budget:
    """Return the budget as it is counted."""
    resource = written.resource or ""
    return Budget(
        name=written.name,
        resource=resource,
        amount=hours_of(resource, written.hours or 0) if resource else money(written.cost or 0),
        period=_period(written),
        at_end=AtEnd(written.at_end),
    )


def _period(written: WrittenBudget) -> Period:
    if written.period == "Sliding":
        return SlidingPeriod(parse_duration(written.window or ""))
    name = written.time_zone or _DEFAULT_ZONE
    return CalendarPeriod(CalendarUnit(written.period), load_zone(name), name)


def write_sums(budget: Budget, memory: Memory) -> dict[str, Any]:
    """Return the part of a budget's status that a controller that starts counts on from."""
    return {
        "counts": budget.key,
        "countedUntil": rfc3339(memory.until),
        "slices": [{"since": rfc3339(since), "amount": str(sum_)} for since, sum_ in sorted(memory.sums.items())],
    }


def read_sums(status: Mapping[str, Any]) -> dict[str, Remembered]:
    """Return what a ClusterQueue's status says of its budgets, by name; what is not of our making is left out."""
    return dict(_sums(status))


def _sums(status: Mapping[str, Any]) -> Iterator[tuple[str, Remembered]]:
    for one in status.get("budgets") or ():
        try:
            sums = {int(epoch(part["since"])): int(part["amount"]) for part in one.get("slices") or ()}
            yield one["name"], Remembered(one["counts"], Memory(int(epoch(one["countedUntil"])), sums))
        except (AttributeError, KeyError, TypeError, ValueError):
            continue
