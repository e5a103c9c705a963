"""The workloads of Kueue's performance suites in virtual time.

`python -m tests.bench.kueue_suite [baseline|large-scale|FILE]`; FILE is another configuration of its generator, as
kubernetes-sigs/kueue has them in its test/performance/scheduler/configs. Kueue's figures are of wall time, and bounded
by the requests that it may send; these are of what the queues alone would take. Figures, never asserted.
"""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from statistics import fmean

import yaml

from controller.core.kubernetes.amounts import supply_amount
from controller.core.queueing.effective import WrittenQueue
from controller.core.queueing.preemption_policy import Preemption, Reclaim, Within
from controller.core.workloads.decisions import Evict
from controller.core.workloads.pods import Pod
from controller.kube.clock import monotonic
from controller.simulator.kueue_configs import GeneratedQueue, generated_jobs, generated_queues, parse_config
from controller.simulator.measurements import Measuring
from controller.simulator.simulated_cluster import SimulatedCluster
from controller.simulator.traces import Trace, trace_of
from controller.simulator.world import World
from tests.support.builders import a_cluster_queue, a_local_queue, a_static_flavor, a_tree_quota
from tests.support.simulated_worlds import NOW, a_world

_RESOLUTION = 0.05
_THEIRS = {
    "baseline": "351 s, 55.9 % used; small 215 s, medium 76.8, large 16.5",
    "large-scale": "1179 s, 38.6 % used; small 700 s, medium 256, large 106",
}


class Admissions:
    """Measures, and keeps how long each workload waited for its last admission: Kueue counts that one."""

    def __init__(self, measuring: Measuring, trace: Trace) -> None:
        self.measuring = measuring
        self.waits: dict[str, tuple[str, float]] = {}
        self._jobs = trace.jobs

    def arrived(self, pod: Pod, at: float) -> None:
        """Nothing is kept."""

    def began(self, pod: Pod, at: float) -> None:
        self.measuring.began(pod, at)
        if pod.owner is not None:
            self.waits[pod.owner.uid] = pod.user, at - self._jobs[pod.owner.uid].created

    def succeeded(self, pod: Pod, at: float) -> None:
        self.measuring.succeeded(pod, at)

    def lost(self, pod: Pod, at: float, evict: Evict | None) -> None:
        self.measuring.lost(pod, at, evict)

    def means(self) -> str:
        classes = Counter(name for name, _ in self.waits.values())
        means = {name: fmean(wait for one, wait in self.waits.values() if one == name) for name in classes}
        return ", ".join(f"{name} {mean:.1f}" for name, mean in means.items())


def world_of(queues: list[GeneratedQueue], trace: Trace) -> World:
    made = [a_cluster_queue(cohort, a_tree_quota(cpu=0)) for cohort in dict.fromkeys(one.cohort for one in queues)]
    for one in queues:
        owned, borrowed = (
            supply_amount("cpu", str(units)) for units in (one.made_from.nominal_quota, one.made_from.borrowing_limit)
        )
        preemption = Preemption(
            within=Within(one.made_from.within_cluster_queue), reclaim=Reclaim(one.made_from.reclaim_within_cohort)
        )
        quota = a_tree_quota(cpu=owned, borrow=borrowed)
        made.append(a_cluster_queue(one.name, quota, parent=one.cohort, preemption=preemption))
    world = a_world(
        nodes=[],
        flavors=[a_static_flavor("spot", cpu="1000000")],
        queues=[WrittenQueue(queue) for queue in made],
        locals_=[a_local_queue(one.name, one.name, namespace=one.name) for one in queues],
        jobs=trace.jobs.values(),
    )
    return replace(world, namespaces={one.name: {} for one in queues})


def main(suite: str) -> None:
    file = Path(__file__).parent / "kueue" / f"{suite}.yaml" if suite in _THEIRS else Path(suite)
    config = parse_config(yaml.safe_load(file.read_text(encoding="utf-8")))
    queues, trace = list(generated_queues(config)), trace_of(generated_jobs(config), NOW, None)
    world = world_of(queues, trace)
    watching = Admissions(Measuring(world), trace)
    cluster = SimulatedCluster(
        world,
        end_of=lambda pod, now: now + (trace.seconds_of(pod) or 0.0),
        observer=watching,
        resolution=_RESOLUTION,
        elapsed=watching.measuring.advance,
    )
    cluster.arrive(trace.arrivals)
    units = sum(supply_amount("cpu", str(one.made_from.nominal_quota)) for one in queues)
    play(cluster, watching, total=len(trace.arrivals), units=units, theirs=_THEIRS.get(suite, ""))


def play(cluster: SimulatedCluster, watching: Admissions, *, total: int, units: int, theirs: str) -> None:
    begun, outcome = monotonic(), watching.measuring.outcome
    for _ in cluster.steps(NOW + 36_000):
        if sum(outcome.ended.values()) == total:
            break
    took, lasted = monotonic() - begun, cluster.now - NOW
    used = outcome.used[("spot", "cpu")] / (units * lasted)
    print(  # noqa: T201
        f"{total} workloads: {lasted:.1f} s of virtual time, {100 * used:.1f} % used, "
        f"{sum(outcome.preempted.values())} preempted; seconds to admission: {watching.means()}; "
        f"simulated in {took:.0f} s"
    )
    if theirs:
        print(f"Kueue, in wall time: {theirs}")  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1] if sys.argv[1:] else "baseline")
