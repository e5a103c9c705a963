"""What the budgets of all queues have used: kept up by the runs of pods, from what the statuses remember.

An event only notes; what it comes to is worked out when time passes (`advance`), which the loop does after each event.
Where queues, parents or prices change, what was used so far is settled and all is set up anew from there; where a clock
that jumped is put right, from what was used before (`cache.budgets.clock_jumps`). Without budgets nothing is kept.
Arithmetic: `core.budgets.tally`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from controller.cache.budgets.clock_jumps import ClockJumps
from controller.core.budgets.budget import Budget
from controller.core.budgets.tally import Memory, Tally
from controller.core.calendar.windows import FOR_EVER
from controller.core.kubernetes.amounts import Requests
from controller.core.queueing.queues import ClusterQueue, Flavor
from controller.core.quota.quota_tree import QuotaTree
from controller.core.quota.used_up import NOTHING_USED_UP, UsedUp, UsedUpBudgets
from controller.core.workloads.charges import Charge
from controller.core.workloads.pods import Pod
from controller.objects.budgets import Remembered

BudgetKey = tuple[str, str]
"""(cluster queue, budget)."""

_Payment = tuple[str, str, Requests]
"""Cluster queue, flavor and requests of a run."""

_REMEMBERED = 10_000


@dataclass(frozen=True, slots=True)
class Run:
    """A pod that has started. `cluster_queue` empty: nobody knows any more who paid. `ended` 0: nobody said when."""

    cluster_queue: str
    flavor: str
    requests: Requests
    started: int
    ended: int
    is_over: bool

    @property
    def payment(self) -> _Payment:
        """What its rate rests on."""
        return self.cluster_queue, self.flavor, self.requests


@dataclass(frozen=True, slots=True)
class _Counted:
    """A run as it was noted, and from when it is counted. One that was over stays so, whatever is noted later."""

    run: Run
    since: int
    is_over: bool


@dataclass(frozen=True, slots=True)
class _Judgement:
    """Whether a budget is used up, and until when that holds if nothing happens."""

    used_up: UsedUp | None
    until: int


@dataclass(frozen=True, slots=True)
class BudgetInputs:
    """What budgets rest on, beside pods and time."""

    queues: Mapping[str, ClusterQueue]
    tree: QuotaTree
    flavors: Mapping[str, Flavor]


def run_of(pod: Pod | None, charge: Charge | None) -> Run | None:
    """Return the run of a pod; None: it has not started, is gone, or nobody's budget pays for it."""
    if pod is None or not pod.started:
        return None
    is_over = pod.is_finished or pod.ended > 0
    if charge is not None and charge.cluster_queue:
        payer = charge.cluster_queue, charge.flavor
    elif (is_over or pod.is_terminating) and pod.queue is not None and not pod.gates:
        # what ended is charged to nobody's quota any more, nor what is lost (`core.evictions.lost_pods`), which may run
        # on: its stamps say who paid
        payer = (pod.cluster_queue or "", pod.flavor or "") if pod.cluster_queue and pod.flavor else ("", "")
    else:
        return None
    return Run(*payer, pod.shape.requests, pod.started, pod.ended, is_over)


class BudgetBook:
    """The tallies, and of which budgets nothing is left. `next_change`: when that may be another by time alone."""

    def __init__(self) -> None:
        self.used_up: UsedUpBudgets = NOTHING_USED_UP
        self.next_change = FOR_EVER
        self._now = 0
        self._jumps: ClockJumps[Mapping[BudgetKey, Remembered]] = ClockJumps()
        self._is_stale = True
        self._world = BudgetInputs({}, QuotaTree({}), {})
        self._rests_on: object = None
        self._tallies: dict[BudgetKey, tuple[Budget, Tally]] = {}
        self._judged: dict[BudgetKey, _Judgement] = {}
        self._remembered: dict[BudgetKey, Remembered] = {}
        self._counted: dict[str, _Counted] = {}
        """Runs that are over too, as long as their pods are there, so that none is counted twice."""
        self._noted: dict[str, Run | None] = {}
        self._meters: dict[_Payment, list[tuple[BudgetKey, int]]] = {}

    def tally(self, queue: str, budget: Budget) -> Tally | None:
        """Return what is counted for a budget, as of the latest `advance`; None: it is not set up yet."""
        known = self._tallies.get((queue, budget.name))
        return known[1] if known is not None and known[0] == budget else None

    # -- what happens ----------------------------------------------------------------------------------------------

    def remember(self, queue: str, sums: Mapping[str, Remembered]) -> None:
        """Take in what a queue's status says of its budgets; what is counted here already counts for more."""
        self._remembered.update({(queue, name): one for name, one in sums.items()})

    def rules_changed(self) -> None:
        """Note that a queue or a flavor changed."""
        self._is_stale = True

    def note(self, uid: str, pod: Pod | None, charge: Charge | None) -> bool:
        """Note how a pod is now; say whether that may change what is used."""
        if not self._tallies:
            return False
        run, known = run_of(pod, charge), self._counted.get(uid)
        if run == (known.run if known is not None else None):
            self._noted.pop(uid, None)
            return False
        self._noted[uid] = run
        return True

    def advance(self, now: int, world: BudgetInputs, pods: Iterable[tuple[str, Pod, Charge | None]]) -> None:
        """Let it be this time. `pods` are all that there are; they are looked at only after rules changed."""
        righted = self._jumps.advance(now, self.so_far)
        has_gone_back, self._now = now < self._now, now
        moved: set[BudgetKey] = set()
        for uid, run in self._noted.items():
            moved.update(self._move(uid, run, now))
        self._noted.clear()
        is_new = (self._is_stale and self._take_in(world)) or righted is not None
        if is_new:
            self._set_up(now, pods, righted or {})
        if is_new or has_gone_back or now >= self.next_change:
            moved = set(self._tallies)
        self._judge(moved, now)

    def _take_in(self, world: BudgetInputs) -> bool:
        """Keep what budgets rest on as it is now; say whether it is not what it was."""
        self._is_stale = False
        rests_on = (
            {name: (queue.parent, queue.budgets) for name, queue in world.queues.items()},
            {name: flavor.price for name, flavor in world.flavors.items()},
            dict(world.tree.faults),
        )
        if rests_on == self._rests_on:
            self._remembered.clear()
            return False
        self._rests_on = rests_on
        # a copy: what happens until the next time is still counted by these
        self._world = BudgetInputs(dict(world.queues), world.tree, dict(world.flavors))
        return True

    def so_far(self) -> Mapping[BudgetKey, Remembered]:
        """What a status would keep, as of the latest `advance`; before the first, what the statuses keep."""
        counted = {
            key: Remembered(budget.key, tally.memory(self._now)) for key, (budget, tally) in self._tallies.items()
        }
        return {**self._remembered, **counted}

    def _set_up(
        self, now: int, pods: Iterable[tuple[str, Pod, Charge | None]], righted: Mapping[BudgetKey, Remembered]
    ) -> None:
        """Settle what was used so far, and count on from there by the rules as they are now.

        What is `righted` counts instead of what was used so far.
        """
        for _, tally in self._tallies.values():
            tally.advance(now)
        self._remembered = {**self.so_far(), **righted}
        budgets = {(queue.name, one.name): one for queue in self._world.queues.values() for one in queue.budgets}
        self._tallies = {key: (one, Tally(one.period, now, self._memory(key, one))) for key, one in budgets.items()}
        self._remembered.clear()
        self._judged.clear()
        self._counted.clear()
        self._meters.clear()
        for uid, pod, charge in pods if budgets else ():
            self._move(uid, run_of(pod, charge), now)
        for _, tally in self._tallies.values():
            tally.take_back()

    def _memory(self, key: BudgetKey, budget: Budget) -> Memory | None:
        known = self._remembered.get(key)
        return known.memory if known is not None and known.key == budget.key else None

    # -- counting --------------------------------------------------------------------------------------------------

    def _move(self, uid: str, run: Run | None, now: int) -> Iterable[BudgetKey]:
        """Count a pod as it is now; return the budgets that this concerns."""
        former = self._counted.pop(uid, None)
        if run is None:
            return () if former is None else self._close(former, now, now)
        if former is None:
            self._counted[uid] = counted = _Counted(run, min(run.started, now), run.is_over)
            return self._begin(counted, now)
        self._counted[uid] = _Counted(run, former.since, former.is_over or run.is_over)
        if run.is_over:
            return self._close(former, min(run.ended, now) if run.ended else now, now)
        if former.is_over or former.run.payment == run.payment:
            return ()
        self._counted[uid] = resumed = _Counted(run, now, False)
        return {*self._close(former, now, now), *self._begin(resumed, now)}

    def _begin(self, counted: _Counted, now: int) -> list[BudgetKey]:
        """A run is seen for the first time. Of one that is over and does not say since when, nothing is known."""
        run, keys = counted.run, []
        for key, rate in self._meter(run.payment):
            tally = self._tallies[key][1]
            tally.advance(now)
            if not run.is_over:
                tally.open(rate, counted.since)
            else:
                tally.add(rate, counted.since, min(run.ended, now))
            keys.append(key)
        return keys

    def _close(self, counted: _Counted, until: int, now: int) -> list[BudgetKey]:
        keys = []
        for key, rate in self._meter(counted.run.payment) if not counted.is_over else ():
            tally = self._tallies[key][1]
            tally.advance(now)
            tally.close(rate, counted.since, until)
            keys.append(key)
        return keys

    def _meter(self, payment: _Payment) -> list[tuple[BudgetKey, int]]:
        """Return the budgets that pay, those of the queue and of all above it, and how much a second."""
        known = self._meters.get(payment)
        if known is None:
            name, flavor, requests = payment
            prices = self._world.flavors[flavor].price if flavor in self._world.flavors else {}
            above = [self._world.queues[one] for one in self._world.tree.path(name) if one in self._world.queues]
            rates = [((queue.name, one.name), one.rate(requests, prices)) for queue in above for one in queue.budgets]
            if len(self._meters) >= _REMEMBERED:
                self._meters.clear()
            known = self._meters[payment] = [(key, rate) for key, rate in rates if rate]
        return known

    # -- what it comes to ------------------------------------------------------------------------------------------

    def _judge(self, keys: Iterable[BudgetKey], now: int) -> None:
        """Say anew which of these budgets are used up, and when that may change."""
        is_new = False
        for key in keys:
            judged = _judgement(key[0], *self._tallies[key], now)
            is_new = is_new or key not in self._judged or judged.used_up != self._judged[key].used_up
            self._judged[key] = judged
        self.next_change = min((one.until for one in self._judged.values()), default=FOR_EVER)
        if is_new or not self._judged:
            by_queue: dict[str, list[UsedUp]] = {}
            for key in self._tallies:
                found = self._judged[key].used_up
                if found is not None:
                    by_queue.setdefault(key[0], []).append(found)
            self.used_up = UsedUpBudgets(by_queue) if by_queue else NOTHING_USED_UP


def _judgement(queue: str, budget: Budget, tally: Tally, now: int) -> _Judgement:
    tally.advance(now)
    until = tally.next_change(now, budget.amount)
    if tally.used(now) < budget.amount:
        return _Judgement(None, until)
    return _Judgement(UsedUp(queue, budget, tally.opens_at(now, budget.amount)), until)
