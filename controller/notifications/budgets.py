"""Which notices follow from what budgets have used: one for each threshold that is crossed, once in a period."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from controller.core.budgets.budget import Budget
from controller.core.budgets.periods import SlidingPeriod
from controller.core.budgets.tally import Tally
from controller.kube.clock import rfc3339
from controller.notifications.notices import Kind, Notice

LocalQueues = frozenset[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class BudgetState:
    """A budget of a ClusterQueue, and what is counted for it."""

    queue: str
    budget: Budget
    tally: Tally


class BudgetNotices:
    """Remembers which thresholds were told of which budget, and for which period.

    `charged` returns the LocalQueues whose pods a ClusterQueue's budget pays for.
    """

    def __init__(self, charged: Callable[[str], LocalQueues]) -> None:
        self._charged = charged
        self._told: dict[tuple[str, str], dict[int, int]] = {}
        """By budget and threshold: when the period began, or of a sliding window when the threshold was crossed."""
        self._has_begun = False

    def look(self, states: Sequence[BudgetState], percents: Collection[int], now: int) -> list[Notice]:
        """Return what is to be told of all budgets at a time, epoch seconds, for these thresholds.

        What is found crossed at the first look may have been told before. Of a window that slides nobody knows when
        that was, so it is not told.
        """
        self._told = {(one.queue, one.budget.name): self._told_of(one, now) for one in states}
        notices = [
            notice
            for one in states
            for percent in sorted(percents)
            if (notice := self._crossed(one, percent, now)) is not None
        ]
        self._has_begun = True
        return notices

    def _told_of(self, state: BudgetState, now: int) -> dict[int, int]:
        """Return what was told of a budget in this period; of a window: what is still crossed, or was lately."""
        told = self._told.get((state.queue, state.budget.name), {})
        period, tally = state.budget.period, state.tally
        if isinstance(period, SlidingPeriod):
            return {p: at for p, at in told.items() if _is_over(state, p, now) or now < at + period.seconds}
        return {p: at for p, at in told.items() if at == tally.since(now)}

    def _crossed(self, state: BudgetState, percent: int, now: int) -> Notice | None:
        told = self._told[state.queue, state.budget.name]
        if percent in told or not _is_over(state, percent, now):
            return None
        slides = isinstance(state.budget.period, SlidingPeriod)
        told[percent] = now if slides else state.tally.since(now)
        if slides and not self._has_begun:
            return None
        charged = self._charged(state.queue)
        return _notice(state, percent, now, charged, began=told[percent], is_repeat=not self._has_begun)


def _is_over(state: BudgetState, percent: int, now: int) -> bool:
    return state.tally.used(now) * 100 >= state.budget.amount * percent


def _notice(state: BudgetState, percent: int, now: int, charged: LocalQueues, *, began: int, is_repeat: bool) -> Notice:
    budget, tally, queue = state.budget, state.tally, state.queue
    used, amount = budget.text(tally.used(now)), budget.text(budget.amount)
    unit = f"hours of {budget.resource}" if budget.resource else "cost"
    runs_out = tally.runs_out_at(now, budget.amount) if tally.used(now) < budget.amount else None
    times = {"periodStart": rfc3339(tally.since(now)), **_period_end(state)}
    data: dict[str, Any] = {
        "clusterQueue": queue,
        "budget": budget.name,
        "percent": percent,
        "used": used,
        "amount": amount,
        "unit": unit,
        "atEnd": budget.at_end.value,
        **times,
        **({} if runs_out is None else {"runsOutAt": rfc3339(runs_out)}),
    }
    ends = "" if runs_out is None else f"; at the present rate it is used up at {rfc3339(runs_out)}"
    return Notice(
        kind=Kind.BUDGET_USED,
        id=f"budget/{queue}/{budget.name}/{rfc3339(began)}/{percent}",
        at=now,
        subject=f"clusterqueues/{queue}/budgets/{budget.name}",
        cluster_queue=queue,
        local_queues=charged,
        data=data,
        text=f"Budget {budget.name} of ClusterQueue {queue} is used to {percent} %: {used} of {budget.words}{ends}",
        percent=percent,
        is_repeat=is_repeat,
    )


def _period_end(state: BudgetState) -> dict[str, str]:
    return {} if isinstance(state.budget.period, SlidingPeriod) else {"periodEnd": rfc3339(state.tally.end)}
