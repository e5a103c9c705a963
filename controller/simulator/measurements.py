"""What a simulation comes to: waits by queue and user, how much of each flavor was used, preemptions and cost."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from controller.cache.cluster import ClusterCache
from controller.core.budgets.budget import money, rate_of_cost
from controller.core.capacity.node_index import NodeIndex
from controller.core.queueing.effective import live_capacity
from controller.core.workloads.decisions import Evict, EvictionCause
from controller.core.workloads.pods import Phase, Pod
from controller.simulator.eta import quantile
from controller.simulator.timelines import Timeline
from controller.simulator.world import World

_ONE_UNIT_HOURS = money(1)
"""So much of the unit of a budget's cost is a cost of 1."""


@dataclass(slots=True)
class Waits:
    """Seconds from creation to start of pods that started, and how long others wait that have not by the end."""

    started: list[float] = field(default_factory=list)
    waiting: list[float] = field(default_factory=list)

    def quantile(self, part: float) -> float | None:
        """Return the wait that such a part does not exceed, seconds; who still waits counts by then. None: nobody."""
        every = sorted([*self.started, *self.waiting])
        return quantile(every, part) if every else None

    def add(self, other: Waits) -> None:
        """Take the waits of another simulation in."""
        self.started += other.started
        self.waiting += other.waiting


@dataclass(slots=True)
class Outcome:
    """All of one or more simulations; `runs` says of how many. Amounts times seconds are by flavor and resource.

    `preempted` counts evictions for others by the ClusterQueue that lost them, `evicted` all other ones. `cost` is by
    ClusterQueue, by the prices of flavors. `starts` are those of the pods of a Job that was added, by its pods' names.
    `timeline` is kept only where it was asked for.
    """

    runs: int = 1
    by_queue: dict[str, Waits] = field(default_factory=dict)
    by_user: dict[str, Waits] = field(default_factory=dict)
    used: dict[tuple[str, str], float] = field(default_factory=dict)
    capacity: dict[tuple[str, str], float] = field(default_factory=dict)
    preempted: dict[str, int] = field(default_factory=dict)
    evicted: dict[str, int] = field(default_factory=dict)
    cost: dict[str, float] = field(default_factory=dict)
    ended: dict[str, int] = field(default_factory=dict)
    starts: dict[str, list[float]] = field(default_factory=dict)
    unknown: dict[str, None] = field(default_factory=dict)
    timeline: Timeline | None = None

    def add(self, other: Outcome) -> None:
        """Take another simulation in."""
        self.runs += other.runs
        for mine, theirs in ((self.by_queue, other.by_queue), (self.by_user, other.by_user)):
            for name, waits in theirs.items():
                mine.setdefault(name, Waits()).add(waits)
        for sums, more in ((self.used, other.used), (self.capacity, other.capacity)):
            for column, amount in more.items():
                sums[column] = sums.get(column, 0.0) + amount
        every = ((self.preempted, other.preempted), (self.evicted, other.evicted), (self.ended, other.ended))
        for counts, found in every:
            for name, count in found.items():
                counts[name] = counts.get(name, 0) + count
        for name, cost in other.cost.items():
            self.cost[name] = self.cost.get(name, 0.0) + cost
        for name, starts in other.starts.items():
            self.starts.setdefault(name, []).extend(starts)
        self.unknown.update(other.unknown)
        if self.timeline is not None and other.timeline is not None:
            self.timeline.add(other.timeline)

    def utilisation(self, column: tuple[str, str]) -> float | None:
        """Return which part of a flavor's resource was used in the mean; None: there was none of it."""
        return self.used.get(column, 0.0) / self.capacity[column] if self.capacity.get(column) else None


class Measuring:
    """An observer that adds up an outcome; `close` ends it. `named` are uids whose starts are kept by name.

    With `timeline`, it also adds up what is used when.
    """

    def __init__(self, world: World, named: Iterable[str] = (), timeline: Timeline | None = None) -> None:
        self.outcome = Outcome(timeline=timeline)
        self._flavors = world.flavors
        self._named = frozenset(named)
        self._at = world.now
        self._charged = {pod.uid: world.now for pod in world.pods.values() if pod.phase is Phase.RUNNING}
        """Since when the pods are charged that run, by uid."""
        self._index: NodeIndex | None = None
        self._capacity: dict[tuple[str, str], int] = {}
        """What there is on the nodes of that index."""

    def advance(self, cache: ClusterCache, now: float) -> None:
        """Add up what is used and what there is until `now`, epoch seconds; before anything changes then."""
        seconds = now - self._at
        if seconds <= 0:
            return
        since, self._at = self._at, now
        if cache.index is not self._index:
            self._index = cache.index
            every = (
                (name, live_capacity(one, cache.index.nodes_of(name), int(now))) for name, one in cache.flavors.items()
            )
            self._capacity = {(name, what): amount for name, one in every for what, amount in one.amounts.items()}
        for sums, amounts in ((self.outcome.used, cache.usage.by_flavor), (self.outcome.capacity, self._capacity)):
            for column, amount in amounts.items():
                sums[column] = sums.get(column, 0.0) + amount * seconds
        if self.outcome.timeline is not None:
            self.outcome.timeline.add_between(since, now, cache.usage.by_flavor, self._capacity)

    def arrived(self, pod: Pod, at: float) -> None:
        """Nothing is counted before it starts, or the simulation ends."""

    def began(self, pod: Pod, at: float) -> None:
        """Count its wait."""
        for waits in self._waits(pod, pod.cluster_queue or ""):
            waits.started.append(at - pod.created)
        self._charged[pod.uid] = at
        if pod.uid in self._named:
            self.outcome.starts.setdefault(pod.key, []).append(at)

    def succeeded(self, pod: Pod, at: float) -> None:
        """Count what it cost."""
        queue = pod.cluster_queue or ""
        self.outcome.ended[queue] = self.outcome.ended.get(queue, 0) + 1
        self._pay(pod, at)

    def lost(self, pod: Pod, at: float, evict: Evict | None) -> None:
        """Count what it cost, and why it went."""
        self._pay(pod, at)
        if evict is not None and pod.cluster_queue:
            is_for_others = evict.cause is EvictionCause.PREEMPTED
            counts = self.outcome.preempted if is_for_others else self.outcome.evicted
            counts[pod.cluster_queue] = counts.get(pod.cluster_queue, 0) + 1

    def close(self, cache: ClusterCache, now: float) -> Outcome:
        """Count who still waits and what still runs, and return all of it."""
        self.advance(cache, now)
        for pod in list(cache.pods.values()):
            if pod.phase is Phase.QUEUED:
                local = cache.local_queues.get((pod.namespace, pod.queue or ""))
                for waits in self._waits(pod, "" if local is None else local.cluster_queue):
                    waits.waiting.append(now - pod.created)
            else:
                self._pay(pod, now)
        return self.outcome

    def _waits(self, pod: Pod, queue: str) -> tuple[Waits, Waits]:
        user = pod.user or f"namespace {pod.namespace}"
        return self.outcome.by_queue.setdefault(queue, Waits()), self.outcome.by_user.setdefault(user, Waits())

    def _pay(self, pod: Pod, now: float) -> None:
        since = self._charged.pop(pod.uid, None)
        flavor = self._flavors.get(pod.flavor or "")
        if since is None or flavor is None or not pod.cluster_queue:
            return
        cost = rate_of_cost(pod.shape.requests, flavor.price) * (now - since) / _ONE_UNIT_HOURS
        self.outcome.cost[pod.cluster_queue] = self.outcome.cost.get(pod.cluster_queue, 0.0) + cost
