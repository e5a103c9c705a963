"""More quota, wider limits and budgets, more of a flavor that is known by sums."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from controller.core.kubernetes.amounts import format_amount
from controller.core.queueing.mix import Mix
from controller.core.queueing.queues import ClusterQueue, FlavorQuota
from controller.core.quota.used_up import UsedUp, UsedUpBudgets
from controller.visibility.changes.change import Change, Cost
from controller.visibility.editing import Case, with_queues


@dataclass(frozen=True, slots=True)
class _More(Change):
    """`by` so much more of a resource, in its unit."""

    queue: str
    resource: str
    by: int

    @property
    def cost(self) -> Cost:
        """Others may have to give it up."""
        return Cost.QUOTA

    @property
    def key(self) -> tuple[str, ...]:
        """Amounts of the same resource add up."""
        return type(self).__name__, self.queue, self.resource

    @property
    def amount(self) -> str:
        """How much, as a quantity."""
        return format_amount(self.resource, self.by)

    def plus(self, other: Change) -> Change:
        """Return both amounts together."""
        return replace(self, by=self.by + other.by) if isinstance(other, _More) else other

    def for_those_before(self, amounts: Mapping[str, int]) -> Change:
        """Return it with what they ask for of the resource."""
        return replace(self, by=self.by + amounts.get(self.resource, 0))


@dataclass(frozen=True, slots=True)
class MoreQuota(_More):
    """More nominalQuota of one resource of one flavor."""

    flavor: str = ""

    @property
    def key(self) -> tuple[str, ...]:
        """Amounts of the same quota add up."""
        return type(self).__name__, self.queue, self.flavor, self.resource

    @property
    def text(self) -> str:
        """`10 cpu more of flavor spot for ClusterQueue team-a`."""
        return f"{self.amount} {self.resource} more of flavor {self.flavor} for ClusterQueue {self.queue}"

    def apply(self, case: Case) -> Case:
        """Raise the quota; one that is not there begins at 0."""
        return _changed(case, self.queue, self._raised)

    def _raised(self, queue: ClusterQueue) -> ClusterQueue:
        quotas = list(queue.flavors)
        at = next((place for place, one in enumerate(quotas) if one.flavor == self.flavor), None)
        if at is None:
            quotas.append(FlavorQuota(self.flavor, {self.resource: self.by}))
        else:
            nominal = _raised(quotas[at].nominal, self.resource, self.by)
            quotas[at] = replace(quotas[at], nominal=nominal)
        return replace(queue, flavors=tuple(quotas))


@dataclass(frozen=True, slots=True)
class HigherLimit(_More):
    """A higher limit on a resource over all flavors."""

    @property
    def text(self) -> str:
        """`a limit on cpu of ClusterQueue org that is 4 higher`."""
        return f"a limit on {self.resource} of ClusterQueue {self.queue} that is {self.amount} higher"

    def apply(self, case: Case) -> Case:
        """Raise the limit."""
        return _changed(case, self.queue, lambda one: replace(one, limits=_raised(one.limits, self.resource, self.by)))


@dataclass(frozen=True, slots=True)
class HigherUserLimit(_More):
    """A higher limit on what each user may use."""

    @property
    def text(self) -> str:
        """`4 cpu more for each user of ClusterQueue org`."""
        return f"{self.amount} {self.resource} more for each user of ClusterQueue {self.queue}"

    def apply(self, case: Case) -> Case:
        """Raise the limit."""

        def raised(queue: ClusterQueue) -> ClusterQueue:
            return replace(queue, user_limits=_raised(queue.user_limits, self.resource, self.by))

        return _changed(case, self.queue, raised)


@dataclass(frozen=True, slots=True)
class MoreOfFlavor(_More):
    """More of a flavor whose capacity is known by sums; `queue` is the flavor."""

    @property
    def cost(self) -> Cost:
        """Somebody has to buy it."""
        return Cost.NODES

    @property
    def text(self) -> str:
        """`a capacity of flavor licence that is 2 vendor.example/seat higher`."""
        return f"a capacity of flavor {self.queue} that is {self.amount} {self.resource} higher"

    def apply(self, case: Case) -> Case:
        """Raise the sum."""
        known = case.snapshot.queues.flavors
        flavor = known[self.queue]
        changed = replace(flavor, sums=_raised(flavor.sums, self.resource, self.by))
        return case.with_snapshot(with_queues(case.snapshot, {}, flavors={**known, self.queue: changed}))


@dataclass(frozen=True, slots=True)
class LargerBudget(Change):
    """A budget that is not used up."""

    used_up: UsedUp

    @property
    def cost(self) -> Cost:
        """It costs what the budget is for."""
        return Cost.QUOTA

    @property
    def key(self) -> tuple[str, ...]:
        """One budget."""
        return "LargerBudget", self.used_up.queue, self.used_up.budget.name

    @property
    def text(self) -> str:
        """Which budget, and until when it lasts otherwise."""
        return f"a larger amount in budget {self.used_up.budget.name} of ClusterQueue {self.used_up.queue}"

    def apply(self, case: Case) -> Case:
        """Take the budget from those that are used up."""
        return without_used_up(case, self.used_up)


@dataclass(frozen=True, slots=True)
class WiderMix(Change):
    """A mix that lets more pods of a queue onto spot flavors."""

    queue: str
    mix: Mix

    @property
    def cost(self) -> Cost:
        """One field of the queue."""
        return Cost.SETUP

    @property
    def key(self) -> tuple[str, ...]:
        """One queue's mix."""
        return "WiderMix", self.queue

    @property
    def text(self) -> str:
        """The values to write."""
        base, percent = self.mix.on_demand_base, self.mix.spot_percent
        return f"onDemandBase {base} and spotPercent {percent} in the mix of ClusterQueue {self.queue}"

    def apply(self, case: Case) -> Case:
        """Write the mix."""
        return _changed(case, self.queue, lambda one: replace(one, mix=self.mix))


def without_used_up(case: Case, used_up: UsedUp) -> Case:
    """Return the case in which something of this budget is left."""
    known = case.snapshot.usage.budgets.by_queue
    left = [one for one in known.get(used_up.queue, ()) if one.budget.name != used_up.budget.name]
    budgets = UsedUpBudgets({**known, used_up.queue: left})
    return case.with_snapshot(replace(case.snapshot, usage=replace(case.snapshot.usage, budgets=budgets)))


def _raised(amounts: Mapping[str, int], resource: str, by: int) -> dict[str, int]:
    return {**amounts, resource: amounts.get(resource, 0) + by}


def _changed(case: Case, name: str, change: Callable[[ClusterQueue], ClusterQueue]) -> Case:
    queue = case.snapshot.queues.cluster_queues[name]
    return case.with_snapshot(with_queues(case.snapshot, {name: change(queue)}))
