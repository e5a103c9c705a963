"""Budgets of which nothing is left, and whose workloads that keeps waiting or sends behind all others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf

from controller.core.budgets.budget import AtEnd, Budget
from controller.core.calendar.civil import utc_text
from controller.core.quota.quota_tree import QuotaTree


@dataclass(frozen=True, slots=True)
class UsedUp:
    """A budget of which nothing is left. `opens_at`: when that ends; None: while all that runs goes on, it does not."""

    queue: str
    budget: Budget
    opens_at: int | None

    @property
    def sentence(self) -> str:
        """How much, whose, and until when."""
        subject = f"budget {self.budget.name} of ClusterQueue {self.queue}, {self.budget.words}, is used up"
        if self.opens_at is None:
            return f"{subject}, and stays so while all running pods continue"
        return f"{subject}; it opens again at {utc_text(self.opens_at)}"


@dataclass(frozen=True, slots=True)
class UsedUpBudgets:
    """Budgets that are used up, by the queue that has them."""

    by_queue: Mapping[str, Sequence[UsedUp]] = field(default_factory=dict)

    def closing(self, tree: QuotaTree, queue: str) -> UsedUp | None:
        """Return the budget that keeps the queue from admitting, its own or one above; of several the last to open."""
        return max(self._above(tree, queue, AtEnd.HOLD), key=_opening, default=None) if self.by_queue else None

    def is_behind(self, tree: QuotaTree, queue: str) -> bool:
        """Say whether the queue's workloads go behind all others."""
        return bool(self.by_queue) and any(True for _ in self._above(tree, queue, AtEnd.LOWER_PRIORITY))

    def _above(self, tree: QuotaTree, queue: str, at_end: AtEnd) -> Iterator[UsedUp]:
        for name in tree.path(queue):
            yield from (one for one in self.by_queue.get(name, ()) if one.budget.at_end is at_end)


def _opening(one: UsedUp) -> float:
    return inf if one.opens_at is None else one.opens_at


NOTHING_USED_UP = UsedUpBudgets()
