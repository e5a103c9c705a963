"""The same future twice, as things are and with changes: with the same arrivals, and each pod with the same runtime."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from controller.core.kubernetes.owners import Job
from controller.core.workloads.pods import Pod
from controller.simulator.arrivals import drawn, streams
from controller.simulator.measurements import Measuring, Outcome
from controller.simulator.runtimes import DrawnRuntimes, all_runs, known_runs, unfinished_runs
from controller.simulator.simulated_cluster import SimulatedCluster
from controller.simulator.timelines import Timeline
from controller.simulator.traces import Trace
from controller.simulator.world import World


@dataclass(frozen=True, slots=True)
class Variant:
    """A world, and Jobs that are created in it at once, each with its first pods."""

    world: World
    jobs: Sequence[tuple[Job, Sequence[Pod]]] = ()


class Comparison:
    """Outcomes of all simulations that were played to their end. Without `after` there is only what is."""

    def __init__(
        self,
        before: World,
        after: Variant | None,
        *,
        seconds: float,
        resolution: float = 1.0,
        trace: Trace | None = None,
        has_timeline: bool = False,
    ) -> None:
        """Each simulation looks so many seconds ahead, in steps of `resolution` seconds.

        What comes is the `trace`; without one, pods come at their recent rates. Outcomes have a timeline where it is
        asked for.
        """
        self._trace = trace
        self._has_timeline = has_timeline
        runs = all_runs(before)
        self._known = known_runs(runs, unfinished_runs(before))
        self._coming = streams(before, runs)
        self._seconds = seconds
        self._resolution = resolution
        self._variants = [Variant(before), *([] if after is None else [after])]
        self.outcomes: list[Outcome] = [Outcome(runs=0, timeline=self._timeline(one.world)) for one in self._variants]

    def steps(self, seed: str) -> Iterator[float]:
        """Simulate once each; yield which part of it is done. Who ends before the last part leaves no trace of it."""
        made = list[Outcome]()
        for at, variant in enumerate(self._variants):
            made.append((yield from self._played(variant, seed, at / len(self._variants))))
        for outcome, more in zip(self.outcomes, made, strict=True):
            outcome.add(more)

    def _played(self, variant: Variant, seed: str, done: float) -> Generator[float, None, Outcome]:
        world, trace = variant.world, self._trace
        if trace is not None:
            world = replace(world, jobs={**world.jobs, **trace.jobs})
        named = [pod.uid for _, pods in variant.jobs for pod in pods]
        measuring = Measuring(world, named, self._timeline(world))
        runtimes = DrawnRuntimes(self._known, {**world.jobs, **{job.uid: job for job, _ in variant.jobs}}, seed)
        cluster = SimulatedCluster(
            world,
            end_of=partial(self._end_of, runtimes),
            observer=measuring,
            resolution=self._resolution,
            elapsed=measuring.advance,
        )
        for job, pods in variant.jobs:
            cluster.at(world.now, partial(cluster.create_job, job, pods))
        cluster.arrive(drawn(self._coming, world.now, seed) if trace is None else trace.arrivals)
        until = world.now + self._seconds
        for now in cluster.steps(until):
            yield done + (now - world.now) / self._seconds / len(self._variants)
        outcome = measuring.close(cluster.cache, until)
        outcome.unknown = dict(runtimes.unknown)
        return outcome

    def _timeline(self, world: World) -> Timeline | None:
        return Timeline(world.now, self._seconds) if self._has_timeline else None

    def _end_of(self, runtimes: DrawnRuntimes, pod: Pod, now: float) -> float:
        seconds = None if self._trace is None else self._trace.seconds_of(pod)
        return runtimes.end_of(pod, now) if seconds is None else now + seconds
