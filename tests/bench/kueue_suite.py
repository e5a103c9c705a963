"""The workloads of Kueue's performance suites in virtual time.

`python -m tests.bench.kueue_suite [baseline|large-scale]`. As kubernetes-sigs/kueue has them in its
test/performance/scheduler: cohorts of ClusterQueues that own 20 units each and may borrow 100, each with 350 small, 100
medium and 50 large workloads (50 in all in the large suite). Its figures are of wall time, and bounded by the requests
that it may send; these are of what the queues alone would take. Figures, never asserted.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from heapq import merge
from statistics import fmean

from controller.core.kubernetes.owners import Job, Owner
from controller.core.queueing.effective import WrittenQueue
from controller.core.queueing.preemption_policy import Preemption, Reclaim, Within
from controller.core.workloads.decisions import Evict
from controller.core.workloads.pods import Pod
from controller.kube.clock import monotonic
from controller.simulator.measurements import Measuring
from controller.simulator.simulated_cluster import SimulatedCluster
from tests.support.builders import a_cluster_queue, a_local_queue, a_pod, a_shape, a_static_flavor, a_tree_quota
from tests.support.simulated_worlds import NOW, a_world

_NOMINAL, _BORROWING = 20_000, 100_000
_RESOLUTION = 0.05


@dataclass(frozen=True, slots=True)
class Kind:
    """Workloads of one size: units, seconds each runs, priority, and seconds from one to the next."""

    name: str
    units: int
    seconds: float
    priority: int
    every: float


_SMALL = Kind("small", 1, 0.2, 50, 0.1)
_MEDIUM = Kind("medium", 5, 0.5, 100, 0.5)
_LARGE = Kind("large", 20, 1.0, 200, 1.2)
_BASELINE = "351 s, 55.9 % used; small 215 s, medium 76.8, large 16.5"
_LARGE_SCALE = "1179 s, 38.6 % used; small 700 s, medium 256, large 105"
_SUITES = {
    "baseline": (5, 6, {_SMALL: 350, _MEDIUM: 100, _LARGE: 50}, _BASELINE),
    "large-scale": (10, 100, {_SMALL: 35, _MEDIUM: 10, _LARGE: 5}, _LARGE_SCALE),
}


class Admissions:
    """Measures, and keeps how long each kind waited for its first admission."""

    def __init__(self, measuring: Measuring) -> None:
        self.measuring = measuring
        self.waits: dict[str, list[float]] = defaultdict(list)
        self._seen: set[str] = set()

    def arrived(self, pod: Pod, at: float) -> None:
        """Nothing is kept."""

    def began(self, pod: Pod, at: float) -> None:
        self.measuring.began(pod, at)
        if pod.name not in self._seen:
            self._seen.add(pod.name)
            self.waits[pod.name.split("-", 1)[0]].append(at - pod.created)

    def succeeded(self, pod: Pod, at: float) -> None:
        self.measuring.succeeded(pod, at)

    def lost(self, pod: Pod, at: float, evict: Evict | None) -> None:
        self.measuring.lost(pod, at, evict)


def arrivals(queue: str, kind: Kind, count: int) -> Iterator[tuple[float, Pod]]:
    shape = a_shape(cpu=str(kind.units))
    for number in range(count):
        at, name = NOW + number * kind.every, f"{kind.name}-{queue}-{number}"
        owner = Owner("batch/v1", "Job", "any", "job")
        yield at, a_pod(name, shape, queue=queue, created=at, priority=kind.priority, owner=owner)


def main(suite: str) -> None:
    cohorts, queues, kinds, theirs = _SUITES[suite]
    preemption = Preemption(within=Within.LOWER_PRIORITY, reclaim=Reclaim.ANY)
    quota = a_tree_quota(cpu=_NOMINAL, borrow=_BORROWING)
    names = {f"cq-{cohort}-{number}": f"cohort-{cohort}" for cohort in range(cohorts) for number in range(queues)}
    made = [a_cluster_queue(name, a_tree_quota(cpu=0)) for name in sorted(set(names.values()))]
    made += [a_cluster_queue(name, quota, parent=parent, preemption=preemption) for name, parent in names.items()]
    world = a_world(
        nodes=[],
        flavors=[a_static_flavor("spot", cpu="1000000")],
        queues=[WrittenQueue(queue) for queue in made],
        locals_=[a_local_queue(name, name) for name in names],
        jobs=[Job(uid="job", namespace="default", name="any", parallelism=10**6, ignores_disruption=True)],
    )
    seconds = {kind.name: kind.seconds for kind in kinds}
    watching = Admissions(Measuring(world))
    cluster = SimulatedCluster(
        world,
        end_of=lambda pod, now: now + seconds[pod.name.split("-", 1)[0]],
        observer=watching,
        resolution=_RESOLUTION,
        elapsed=watching.measuring.advance,
    )
    cluster.arrive(merge(*(arrivals(one, kind, count) for one in names for kind, count in kinds.items()), key=_at))
    _play(cluster, watching, total=len(names) * sum(kinds.values()), units=len(names) * _NOMINAL, theirs=theirs)


def _at(arrival: tuple[float, Pod]) -> float:
    return arrival[0]


def _play(cluster: SimulatedCluster, watching: Admissions, *, total: int, units: int, theirs: str) -> None:
    begun, outcome = monotonic(), watching.measuring.outcome
    for _ in cluster.steps(NOW + 36_000):
        if sum(outcome.ended.values()) == total:
            break
    took, lasted = monotonic() - begun, cluster.now - NOW
    used = outcome.used[("spot", "cpu")] / (units * lasted)
    waits = ", ".join(f"{name} {fmean(found):.1f}" for name, found in watching.waits.items())
    preempted = sum(outcome.preempted.values())
    print(  # noqa: T201
        f"{total} workloads: {lasted:.0f} s of virtual time, {100 * used:.1f} % used, {preempted} preempted; "
        f"seconds to admission: {waits}; simulated in {took:.0f} s\nKueue, in wall time: {theirs}"
    )


if __name__ == "__main__":
    main(sys.argv[1] if sys.argv[1:] else "baseline")
