"""Budgets in the status of a ClusterQueue: what is used, when it is used up, and the sums that outlive the controller.

What is used changes every second, so it is written at most once a minute, unless a period ends or a budget does.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from controller.cache.cluster import ClusterCache
from controller.core.budgets.budget import AtEnd, Budget
from controller.core.budgets.periods import CalendarPeriod
from controller.core.budgets.tally import Tally
from controller.core.queueing.queues import ClusterQueue
from controller.core.quota.used_up import UsedUp
from controller.kube.clock import rfc3339
from controller.objects.budgets import write_sums
from controller.objects.read import Entry, counted_until
from controller.runtime.status import Finding, Status
from controller.telemetry import events

_WRITTEN_SECONDS: Final = 60
_CONDITIONS: Final = {
    AtEnd.HOLD: ("BudgetExhausted", "nothing more is admitted"),
    AtEnd.LOWER_PRIORITY: ("BudgetExhausted", "its workloads go behind all others"),
    AtEnd.WARN: ("BudgetWarning", "nothing follows from that"),
}


def budgets_status(cache: ClusterCache, entry: Entry, queue: ClusterQueue | None) -> Status:
    """Return the part of the status that is about budgets; without it, what stands there stays.

    So while the queue cannot be read, or was not counted yet: the sums that are there must not be lost.
    """
    now = int(cache.now)
    tallies = [] if queue is None else [(one, cache.budgets.tally(queue.name, one)) for one in queue.budgets]
    if queue is None or any(tally is None for _, tally in tallies):
        return {}
    fresh = [_budget_status(one, tally, now) for one, tally in tallies if tally is not None]
    standing = entry.status.get("budgets") or []
    return {"budgets": standing if _will_do(standing, fresh, now) else fresh}


def _budget_status(budget: Budget, tally: Tally, now: int) -> dict[str, Any]:
    used = tally.used(now)
    is_used_up = used >= budget.amount
    runs_out = None if is_used_up else tally.runs_out_at(now, budget.amount)
    ends = {"periodEnd": rfc3339(tally.end)} if isinstance(budget.period, CalendarPeriod) else {}
    return {
        "name": budget.name,
        "used": budget.text(used),
        "amount": budget.text(budget.amount),
        "exhausted": is_used_up,
        "periodStart": rfc3339(tally.since(now)),
        **ends,
        **({} if runs_out is None else {"runsOutAt": rfc3339(runs_out)}),
        **write_sums(budget, tally.memory(now)),
    }


def _will_do(standing: list[dict[str, Any]], fresh: list[dict[str, Any]], now: int) -> bool:
    """Whether what stands there is as good: of the same budgets and periods, and not a minute old or still the same."""
    if [_frame(one) for one in standing] != [_frame(one) for one in fresh]:
        return False
    if any(counted_until(one) > now for one in standing):
        return False  # written by a clock that was ahead
    if [one.get("slices") for one in standing] == [one["slices"] for one in fresh]:
        return True
    return all(now - counted_until(one) < _WRITTEN_SECONDS for one in standing)


def _frame(one: dict[str, Any]) -> tuple[object, ...]:
    return tuple(one.get(name) for name in ("name", "amount", "exhausted", "counts", "periodEnd"))


def used_up(cache: ClusterCache, queue: ClusterQueue | None) -> Iterator[Finding]:
    """Conditions of budgets of which nothing is left; those that have no consequence have a condition of their own."""
    ended = () if queue is None else cache.budgets.used_up.by_queue.get(queue.name, ())
    for kind in dict.fromkeys(kind for kind, _ in _CONDITIONS.values()):
        texts = [_consequence(one) for one in ended if _CONDITIONS[one.budget.at_end][0] == kind]
        if texts:
            yield (kind, True, "NothingLeft", "; ".join(texts))


def _consequence(one: UsedUp) -> str:
    return f"{one.sentence}: {_CONDITIONS[one.budget.at_end][1]}"


def news(cache: ClusterCache, entry: Entry, status: Status, *, instance: str, now: float) -> list[dict[str, Any]]:
    """Return an Event for each budget that is used up in this status, and was not in the one that stands there."""
    ended = _exhausted(status) - _exhausted(entry.status)
    return [
        events.budget_exhausted(one, entry.uid, _consequence(one), instance=instance, now=now)
        for one in (cache.budgets.used_up.by_queue.get(entry.key[1], ()) if ended else ())
        if one.budget.name in ended
    ]


def _exhausted(status: Status) -> set[str]:
    return {one["name"] for one in status.get("budgets") or () if one.get("exhausted")}
