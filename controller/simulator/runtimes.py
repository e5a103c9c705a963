"""How long pods run, as a simulation draws it: what they state, by how far others fell short of that, and history.

A pod that states its runtime, or has a deadline, runs for a part of that: such parts as pods of its LocalQueue ran
that stated theirs, else anything from half to all. One that states nothing runs as long as pods of its LocalQueue that
asked for the same, else as any pod of its LocalQueue. With fewer than five such runs nobody knows, and it never ends.

Each draw takes runs with replacement from those that are known: so a draw is as uncertain as few runs leave it. Pods
that still run count as well, each as one of those that ran longer than it has: of many that began together, the short
ones end first. (So does the Kaplan-Meier estimate, whose mass of what is not over goes to what lasts longer.)
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, repeat
from math import inf
from random import Random
from typing import Final

from controller.core.forecasts.run_history import LEAST, SAMPLES
from controller.core.forecasts.runtimes import GOING_SECONDS, declared
from controller.core.kubernetes.owners import Job
from controller.core.workloads.pods import Pod, job_of
from controller.core.workloads.workload import QueueKey
from controller.simulator.world import PastRun, World

_LEAST_PART, _MOST_PART = 0.5, 1.0
"""Between these lie the parts of their stated runtimes that pods run of whose queue nothing is known."""
_SPREAD_PART: Final = 0.15
"""Half of the range in which those of one draw lie: whether a queue's users overstate is one question, not many."""
_OVERRUN_PART: Final = 4


_Run = tuple[float, float, bool]
"""(how long it took or has taken, when it began in epoch seconds, whether it is over)."""


@dataclass(slots=True)
class KnownRuns:
    """The latest runs by what they are like; of pods that stated their runtime also the part of it that they ran."""

    alike: dict[Hashable, list[_Run]] = field(default_factory=dict)
    in_queue: dict[Hashable, list[_Run]] = field(default_factory=dict)
    parts: dict[Hashable, list[_Run]] = field(default_factory=dict)


def all_runs(world: World) -> list[PastRun]:
    """Return the runs that are known, those of pods that are still there among them, the oldest first."""
    return sorted([*world.runs, *_succeeded(world)], key=lambda run: (run.ended, run.uid))


def known_runs(runs: Iterable[PastRun], unfinished: Iterable[PastRun] = ()) -> KnownRuns:
    """Return what these say, of each kind the 50 that are over and began last, and what began since and still runs."""
    known = KnownRuns()
    for run, is_over in chain(zip(runs, repeat(True)), zip(unfinished, repeat(False))):
        began, seconds = float(run.ended - run.seconds), float(run.seconds)
        known.alike.setdefault((run.queue, run.requests), []).append((seconds, began, is_over))
        known.in_queue.setdefault(run.queue, []).append((seconds, began, is_over))
        if run.stated:
            known.parts.setdefault(run.queue, []).append((seconds / run.stated, began, is_over))
    for kind in (known.alike, known.in_queue, known.parts):
        for found in kind.values():
            found[:] = _latest(found)
    return known


def _latest(runs: list[_Run]) -> list[_Run]:
    """Who is chosen by when it began is not chosen by how long it ran.

    What began before all that are over says nothing: of its time, those that are over are forgotten.
    """
    over = sorted(began for _, began, is_over in runs if is_over)[-SAMPLES:]
    return [run for run in runs if run[1] >= over[0]] if over else []


def unfinished_runs(world: World) -> Iterator[PastRun]:
    """Yield those of admitted pods, as if they ended now."""
    for pod in world.pods.values():
        if pod.is_admitted and not pod.is_terminating and pod.queue is not None and held_since(pod):
            seconds = max(1, int(world.now - held_since(pod)))
            stated = declared(pod, job_of(pod, world.jobs))
            yield PastRun((pod.namespace, pod.queue), pod.shape.requests, int(world.now), pod.uid, seconds, stated)


def _succeeded(world: World) -> Iterator[PastRun]:
    for pod in world.pods.values():
        if pod.has_succeeded and pod.started and pod.ended and pod.queue is not None:
            stated = declared(pod, job_of(pod, world.jobs))
            seconds = max(1, int(pod.ended - held_since(pod)))
            yield PastRun((pod.namespace, pod.queue), pod.shape.requests, pod.ended, pod.uid, seconds, stated)


def held_since(pod: Pod) -> float:
    """Return since when a pod holds quota, epoch seconds: its admission, before its start; 0: nobody says.

    What scheduling, images and new nodes take counts too, since nobody else has its place meanwhile.
    """
    return float(pod.admitted_at or pod.started)


class DrawnRuntimes:
    """One draw: how long each pod runs. The same seed, pod and history come to the same runtime, whatever happens.

    `unknown` are the names of pods that run of which nobody knows how long, namespace/name.
    """

    def __init__(self, known: KnownRuns, jobs: Mapping[str, Job], seed: str) -> None:
        self._known = known
        self._jobs = jobs
        self._seed = seed
        self._resampled: dict[tuple[str, Hashable], Sequence[float] | None] = {}
        self.unknown: dict[str, None] = {}

    def end_of(self, pod: Pod, now: float) -> float:
        """Return when a pod that runs at `now` ends, epoch seconds; infinite: nobody knows.

        One that has outrun all that is known runs on for up to a quarter of what it ran.
        """
        stated = declared(pod, job_of(pod, self._jobs))
        samples, scale = self._samples(pod, stated)
        if samples is None:
            self.unknown[pod.key] = None
            return inf
        began = held_since(pod) or now
        ran = max(0.0, now - began)
        chance = Random(f"{self._seed}/{pod.key}").random()  # noqa: S311 - a forecast, no secret
        below = _part_below(samples, ran / scale)
        seconds = scale * _quantile(samples, below + chance * (1 - below))
        if seconds <= ran:
            seconds = ran + chance * max(GOING_SECONDS, ran / _OVERRUN_PART)
        return began + max(1.0, seconds)

    def _samples(self, pod: Pod, stated: int) -> tuple[Sequence[float] | None, float]:
        """Return ascending samples and what each is a part of."""
        queue: QueueKey = (pod.namespace, pod.queue or "")
        if stated:
            return self._drawn("parts", self._known.parts, queue) or self._any_part(queue), float(stated)
        alike = self._drawn("alike", self._known.alike, (queue, pod.shape.requests))
        return alike or self._drawn("in queue", self._known.in_queue, queue), 1.0

    def _drawn(self, what: str, known: Mapping[Hashable, list[_Run]], key: Hashable) -> Sequence[float] | None:
        if (what, key) not in self._resampled:
            found = known.get(key, ())
            chance = Random(f"{self._seed}/{what}/{key}")  # noqa: S311
            is_known = sum(is_over for *_, is_over in found) >= LEAST
            self._resampled[what, key] = _resampled(found, chance) if is_known else None
        return self._resampled[what, key]

    def _any_part(self, queue: QueueKey) -> Sequence[float]:
        chance = Random(f"{self._seed}/any part/{queue}")  # noqa: S311
        middle = chance.uniform(_LEAST_PART + _SPREAD_PART, _MOST_PART - _SPREAD_PART)
        return (middle - _SPREAD_PART, middle + _SPREAD_PART)


def _resampled(runs: Sequence[_Run], chance: Random) -> Sequence[float]:
    """Return how long as many runs took as these, ascending, each drawn from these."""
    taken: list[float] = []
    # of the same length, what still runs took longer
    for length, _, is_over in sorted(chance.choices(runs, k=len(runs)), key=lambda run: (-run[0], run[2])):
        taken.append(length if is_over or not taken else chance.choice(taken))
    return sorted(taken)


def _quantile(ascending: Sequence[float], part: float) -> float:
    """Return the value below which such a part of the samples lies, between two of them in proportion."""
    place = part * (len(ascending) - 1)
    low = min(int(place), len(ascending) - 2)
    return ascending[low] + (place - low) * (ascending[low + 1] - ascending[low])


def _part_below(ascending: Sequence[float], value: float) -> float:
    """Return which part of the samples lies below a value: the inverse of `_quantile`."""
    at = bisect_right(ascending, value)
    if at == 0:
        return 0.0
    if at == len(ascending):
        return 1.0
    low, high = ascending[at - 1], ascending[at]
    return (at - 1 + (value - low) / (high - low)) / (len(ascending) - 1)


def seeds_of(seed: int, runs: int) -> Iterable[str]:
    """Return the seeds of so many draws."""
    return (f"{seed}/{number}" for number in range(runs))
