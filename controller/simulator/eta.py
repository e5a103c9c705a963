"""When waiting pods start: a range from simulations of what is there, each with other runtimes; or why nobody knows.

Pods that are not there yet come at the recent rate of each LocalQueue (`simulator.arrivals`): without them starts are
foreseen too early where smaller pods pass a blocked one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from math import inf
from typing import Final

from controller.core.explaining.wording import describe
from controller.core.reasons import Reason, first_few
from controller.core.workloads.decisions import Evict
from controller.core.workloads.pods import Phase, Pod
from controller.simulator.arrivals import drawn, streams
from controller.simulator.defaults import USUAL_HORIZON, USUAL_RUNS
from controller.simulator.runtimes import DrawnRuntimes, KnownRuns, all_runs, known_runs, seeds_of, unfinished_runs
from controller.simulator.simulated_cluster import SimulatedCluster
from controller.simulator.world import World

QUANTILES: Final = (0.2, 0.5, 0.9)
_FOREVER: Final = frozenset(
    {
        Reason.NEVER_FITS,
        Reason.QUEUE_NOT_FOUND,
        Reason.QUEUE_INVALID,
        Reason.NAMESPACE_NOT_SELECTED,
        Reason.FOREIGN_GATE,
        Reason.INVALID_REQUESTS,
        Reason.UNSUPPORTED_RESOURCE_CLAIMS,
        Reason.GANG_INCOMPLETE,
        Reason.MEMBERS_NEVER_COMPLETE,
        Reason.GANG_INVALID,
        Reason.PRIORITY_CLASS_NOT_FOUND,
        Reason.PRIORITY_CLASS_NOT_ALLOWED,
        Reason.SCHEDULER_PREEMPTION_FORBIDDEN,
        Reason.HELD,
        Reason.QUEUE_STOPPED,
    }
)
"""What no time ends: somebody has to do something. A window that opens within the horizon has opened by its end."""


@dataclass(frozen=True, slots=True)
class Eta:
    """When a pod, namespace/name, starts, epoch seconds: before these times in 2, 5 and 9 of 10 simulations."""

    pod: str
    p20: float
    p50: float
    p90: float


@dataclass(frozen=True, slots=True)
class Unknown:
    """Nobody knows when a pod, namespace/name, starts; `why` is a clause. `others` are pods that it is due to."""

    pod: str
    why: str
    others: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """Why, with the first of the others by name."""
        return f"{self.why}: {first_few(list(self.others), 3)}" if self.others else self.why


class _Starts:
    """Notes when each of some pods starts first; all of them may have."""

    def __init__(self, uids: Collection[str]) -> None:
        self.left = set(uids)
        self.at: dict[str, float] = {}

    def arrived(self, pod: Pod, at: float) -> None:
        """Nothing is noted."""

    def began(self, pod: Pod, at: float) -> None:
        if pod.uid in self.left:
            self.left.discard(pod.uid)
            self.at[pod.uid] = at

    def succeeded(self, pod: Pod, at: float) -> None:
        """Nothing is noted."""

    def lost(self, pod: Pod, at: float, evict: Evict | None) -> None:
        """Nothing is noted."""


class Forecasts:
    """The simulations of one world for some of its pods, by uid; each `run` makes what is known more certain."""

    def __init__(self, world: World, uids: Collection[str], *, horizon: float = USUAL_HORIZON) -> None:
        """`horizon`: seconds that each looks ahead."""
        runs = all_runs(world)
        self._coming = streams(world, runs)
        self._world = world
        self._horizon = horizon
        self._pods = [world.pods[uid] for uid in uids]
        self._known: KnownRuns = known_runs(runs, unfinished_runs(world))
        self._starts: dict[str, list[float]] = {uid: [] for uid in uids if _waits(world.pods[uid])}
        self._why: dict[str, Unknown] = {}

    def run(self, seed: str) -> None:
        """Simulate once, until all of the pods have started, or to the horizon. Raises RestlessError."""
        if not self._starts:
            return
        for _ in self.steps(seed):
            pass

    def steps(self, seed: str) -> Iterator[float]:
        """Do the same step by step, for whoever may have to stop in between: such a simulation does not count."""
        runtimes, starts = DrawnRuntimes(self._known, self._world.jobs, seed), _Starts(self._starts)
        cluster = SimulatedCluster(self._world, end_of=runtimes.end_of, observer=starts)
        cluster.arrive(drawn(self._coming, self._world.now, seed))
        for now in cluster.steps(self._world.now + self._horizon):
            if not starts.left:
                break
            yield now
        for uid, known in self._starts.items():
            known.append(starts.at.get(uid, inf))
        for uid in starts.left - self._why.keys():
            self._why[uid] = self._explain(cluster, uid, runtimes)

    def results(self) -> list[Eta | Unknown]:
        """Return what the simulations so far come to, in the order of the pods that were asked for."""
        return [self._result(pod) for pod in self._pods]

    def _result(self, pod: Pod) -> Eta | Unknown:
        if pod.uid not in self._starts:
            return Unknown(pod.key, "it has ended" if pod.is_finished else "it does not wait at Penstock's gate")
        starts = sorted(self._starts[pod.uid])
        if not starts:
            return Unknown(pod.key, "nothing was simulated yet")
        p20, p50, p90 = (quantile(starts, part) for part in QUANTILES)
        if p90 < inf:
            return Eta(pod.key, p20, p50, p90)
        begun = sum(at < inf for at in starts)
        found = self._why[pod.uid]
        often = f" (it starts in {begun} of {len(starts)} simulations)" if begun else ""
        return replace(found, why=f"{found.why}{often}")

    def _explain(self, cluster: SimulatedCluster, uid: str, runtimes: DrawnRuntimes) -> Unknown:
        """Say why a pod has not started by the horizon."""
        cache, key = cluster.cache, self._world.pods[uid].key
        workload = cache.backlog.of_pod(uid)
        if uid not in cache.pods or workload is None:
            return Unknown(key, "it waits in no queue")
        wait = cache.reasons.of(workload.kind).of(workload.uid)
        said = f"{wait.reason}: {describe(wait, workload.since, uid=workload.uid)}"
        if wait.reason in _FOREVER:
            return Unknown(key, said)
        if runtimes.unknown:
            count = len(runtimes.unknown)
            who = f"{count} pod{'s' * (count > 1)} that may run before it"
            return Unknown(key, f"{said}; no runtime is known for {who}", tuple(runtimes.unknown))
        return Unknown(key, f"it does not start within {self._horizon / 3600:g} h; then {said}")


def etas(
    world: World,
    uids: Collection[str],
    *,
    runs: int = USUAL_RUNS,
    horizon: float = USUAL_HORIZON,
    seed: int = 0,
    done: Callable[[int], None] = lambda _: None,
) -> list[Eta | Unknown]:
    """Simulate so many times, and return what that comes to for each pod, by uid; `done` is told after how many."""
    forecasts = Forecasts(world, uids, horizon=horizon)
    for number, one in enumerate(seeds_of(seed, runs), start=1):
        forecasts.run(one)
        done(number)
    return forecasts.results()


def quantile(ascending: list[float], part: float) -> float:
    """Return the value below which such a part of further samples would lie, between two of these in proportion."""
    place = part * (len(ascending) + 1) - 1
    low = min(max(0, int(place)), len(ascending) - 1)
    here, there = ascending[low], ascending[min(low + 1, len(ascending) - 1)]
    part_of_gap = min(max(0.0, place - low), 1.0)
    return here if not part_of_gap or here == there else here + part_of_gap * (there - here) if there < inf else inf


def _waits(pod: Pod) -> bool:
    return pod.phase is Phase.QUEUED
