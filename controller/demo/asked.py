"""What could be asked in the middle of a run, answered at its end: why a pod waits, when it starts, and what if."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from controller.core.snapshot import Snapshot
from controller.core.workloads.workload import Workload
from controller.demo.observer import Observer, Stage
from controller.demo.world import DemoSetup
from controller.kube.client import Client
from controller.kube.errors import KubeError
from controller.replay.recording import CannotRecordError, record
from controller.replay.snapshot_file import Saved
from controller.simulator.changes import parse_change
from controller.simulator.comparing import Comparison, Variant
from controller.simulator.eta import Eta, Forecasts
from controller.simulator.runtimes import seeds_of
from controller.simulator.world import world_of
from controller.visibility.explanation_text import explanation_text, remedies_text
from controller.visibility.explanations import explain
from controller.visibility.lines import line

_CREATED_PART, _QUEUED_PART = 0.5, 0.2
"""The moment comes when so many of the pods are there, the first have ended, and so many wait."""
_POLL_SECONDS = 0.5
_RUNS = 5
_HORIZON = 3600.0
_PLACE = 15


@dataclass(frozen=True, slots=True)
class Moment:
    """The cluster as it was `at` so many seconds after the start of the run."""

    saved: Saved
    at: float


@dataclass(frozen=True, slots=True)
class Question:
    """A command that could have been given, and the lines that it prints, or the first of them."""

    command: str
    lines: tuple[str, ...]


async def moment(client: Client, seen: Observer) -> Moment | None:
    """Wait for the middle of the run, and record the cluster; None where that is not allowed, or not possible."""
    while not _is_middle(seen):  # noqa: ASYNC110 - many pods make it, none of them alone
        await asyncio.sleep(_POLL_SECONDS)
    at = seen.elapsed
    try:
        recorded = await record(client)
    except (CannotRecordError, KubeError):
        return None
    return Moment(Saved(recorded.snapshot, recorded.written), at)


def _is_middle(seen: Observer) -> bool:
    stages = Counter(one.stage for one in seen.tracks.values())
    is_begun = stages.total() >= _CREATED_PART * seen.expected and stages[Stage.DONE] > 0
    return is_begun and stages[Stage.QUEUED] >= _QUEUED_PART * seen.expected


def questions(moment: Moment, here: DemoSetup, seen: Observer) -> Iterator[Question]:
    """Yield what could have been asked at that moment; nothing where nobody waited for quota or room then."""
    snapshot = moment.saved.snapshot
    for team in here.teams:
        workload = _waiting(snapshot, here.named(team.name))
        if workload is not None:
            name, where = workload.name.rpartition("/")[-1], f"-n {here.named(team.name)}"
            told = explain(snapshot, workload)
            lines = (*explanation_text(told), *remedies_text(told))
            yield Question(f"penstock explain pod/{name} {where}", lines)
            yield Question(f"penstock eta pod/{name} {where}", tuple(_eta(moment, workload, seen)))
            yield _simulation(moment, here)
            return


def _waiting(snapshot: Snapshot, queue: str) -> Workload | None:
    """Return one that waits for quota or room, not far from the front of a queue."""
    plain = [one for one in line(snapshot, queue) if one.kind.hold is None]
    return plain[min(_PLACE, len(plain)) - 1] if plain else None


def _eta(moment: Moment, workload: Workload, seen: Observer) -> Iterator[str]:
    forecasts = Forecasts(world_of(moment.saved), workload.pods, horizon=_HORIZON)
    for seed in seeds_of(0, _RUNS):
        forecasts.run(seed)
    (found, *_) = forecasts.results()
    if not isinstance(found, Eta):
        yield f"unknown: {found.why}"
        return
    now = moment.saved.snapshot.now
    first, usual, last = (round(at - now) for at in (found.p20, found.p50, found.p90))
    yield f"starts in {usual} s, {first} s to {last} s"
    track = seen.tracks.get(workload.pods[0])
    if track is not None and track.released is not None:
        yield f"(it was released {round(seen.since_begin(track.released) - moment.at)} s later)"


def _simulation(moment: Moment, here: DemoSetup) -> Question:
    text = f"lost:{here.named('spot')}"
    world = world_of(moment.saved)
    comparison = Comparison(world, Variant(parse_change(text).apply(world)), seconds=_HORIZON)
    for seed in seeds_of(0, 1):
        for _ in comparison.steps(seed):
            pass
    before, after = comparison.outcomes
    lines = []
    for team in here.teams:
        queue = here.named(team.name)
        waits = [one.by_queue.get(queue) for one in (before, after)]
        found = [None if one is None else one.quantile(0.5) for one in waits]
        if None not in found:
            median, then = (round(one or 0.0) for one in found)
            lines.append(f"{queue}: half of the pods wait {median} s, and without the spot nodes {then} s")
    return Question(f"penstock simulate --change {text}", tuple(lines))
