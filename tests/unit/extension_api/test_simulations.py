"""What a copy of the process simulates for who asks: what the command would, without what is not for everybody."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from controller.cache.cluster import ClusterCache
from controller.core.keys import QUEUE_NAME
from controller.extension_api.bodies import read_sent
from controller.extension_api.pacing import Turns
from controller.extension_api.queueing.registry import resources
from controller.extension_api.queueing.simulations import MOST_ADDED, SimulationSpec
from controller.extension_api.resources import API_VERSION, EVERYWHERE, HIDDEN, Creation, Entry, Question, Resource
from controller.extension_api.statuses import Refused
from controller.forking import Forks
from controller.kube import clock
from controller.replay.as_written import as_written
from controller.replay.snapshot_file import Saved
from controller.simulator.comparing import Comparison
from controller.simulator.runtimes import seeds_of
from controller.simulator.variants import variant_of
from controller.simulator.world import world_of
from controller.visibility.simulation_rows import SimulationRow, simulation_row
from controller.visibility.start_forecasts import StartForecasts
from tests.support.builders import a_cache, a_cluster_queue, a_node, a_pod, a_quota, a_released_pod, a_shape, decided
from tests.support.fake_time import FakeTime, turns
from tests.support.simulated_worlds import NOW

TEAM = "team-a"
MORE = "quota:team-a/spot/cpu=+4"


@pytest.fixture(autouse=True)
def _at_a_fixed_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "now", lambda: NOW)


def a_full_queue() -> ClusterCache:
    """A pod of nobody knows how long has half of the quota; four wait that state an hour."""
    two = a_shape(cpu="2")
    pods = [a_pod(f"pod-{n}", two, created=NOW - 600 + n, expected_runtime=3600, user=f"user-{n}") for n in range(4)]
    cache = a_cache(
        a_released_pod("run", two, node=a_node().name),
        *pods,
        nodes=[a_node(cpu="8")],
        queues=[a_cluster_queue(TEAM, a_quota(cpu="4"))],
    )
    cache.advance(NOW)
    decided(cache)
    return cache


def a_job(name: str = "train", pods: int = 1, namespace: str = "default") -> dict[str, Any]:
    template = {
        "metadata": {"labels": {QUEUE_NAME: "main"}},
        "spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "2"}}}]},
    }
    metadata = {"name": name, "namespace": namespace}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata,
        "spec": {"template": template, "parallelism": pods, "completions": pods},
    }


def simulations(cache: ClusterCache, forks: Forks | None = None) -> tuple[Resource, Creation]:
    found = resources(cache, StartForecasts(), Turns(), forks or Forks(2)).find("simulations")
    assert found is not None
    assert found.create is not None
    return found, found.create


async def answered(cache: ClusterCache, spec: SimulationSpec, seconds: float = 60.0) -> Entry:
    _, creation = simulations(cache)
    return await creation.answer(Question("mine", spec, clock.monotonic() + seconds))


async def row(cache: ClusterCache, spec: SimulationSpec) -> SimulationRow:
    found = (await answered(cache, spec)).row
    assert isinstance(found, SimulationRow)
    return found


async def test_the_answer_is_that_of_the_command() -> None:
    cache = a_full_queue()
    spec = SimulationSpec(changes=(MORE,), jobs=(a_job(),), hours=6, runs=3, seed=7, resolution=2.0)
    found = await row(cache, spec)
    world = world_of(Saved(cache.snapshot(), as_written(cache)))
    variant = variant_of(world, spec.changes, spec.jobs)
    comparison = Comparison(world, variant, seconds=6 * 3600.0, resolution=2.0)
    for seed in seeds_of(7, 3):
        for _ in comparison.steps(seed):
            pass
    assert found == simulation_row(comparison.outcomes, NOW, variant)
    before, after = found.outcomes
    assert (before.simulations, after.simulations) == (3, 3)
    assert before.cluster_queues[TEAM].median is not None
    assert after.cluster_queues[TEAM].started > before.cluster_queues[TEAM].started
    assert [(one.name, one.pods) for one in found.jobs] == [("default/train", 1)]


async def test_nothing_tried_is_what_is() -> None:
    cache = a_full_queue()
    waiting = len(cache.backlog)
    found = await row(cache, SimulationSpec(runs=1))
    assert found.after is None
    assert len(cache.backlog) == waiting


async def test_users_and_names_are_for_who_sees_all_pods() -> None:
    cache = a_full_queue()
    entry = await answered(cache, SimulationSpec(changes=(MORE,), jobs=(a_job(),), runs=1))
    assert entry.names == EVERYWHERE
    resource, _ = simulations(cache)
    assert resource.redact is not None
    assert resource.redact(entry, EVERYWHERE) is entry
    hidden = resource.redact(entry, frozenset()).row
    assert isinstance(hidden, SimulationRow)
    for one in hidden.outcomes:
        assert (one.users, set(one.unknown_runtimes)) == ({}, {HIDDEN})
        assert one.cluster_queues.keys() == {TEAM}
    text = msgspec.json.encode(hidden)
    assert [name for name in (b"user-", b"default/run", b"pod-") if name in text] == []
    assert b"default/train-0" in text, "of whom they have asked themselves"


def test_a_spec_names_the_namespaces_of_jobs_and_queues() -> None:
    _, creation = simulations(a_full_queue())
    jobs: tuple[dict[str, Any], ...] = (a_job(namespace="a"), {"metadata": {"name": "x"}}, {"metadata": 1}, {})
    changes = ("stop:b/main=Hold", "stop:team-a=Hold", MORE, "nothing")
    assert creation.names(SimulationSpec(changes=changes, jobs=jobs)) == {"a", "b", "default"}


@pytest.mark.parametrize(
    ("spec", "field", "told"),
    [
        (SimulationSpec(changes=(MORE, "lost:none")), "spec.changes[1]", "lost:none: there is no flavor none"),
        (SimulationSpec(changes=("nothing",)), "spec.changes[0]", "'nothing' is no change; write one of quota:"),
        (SimulationSpec(jobs=(a_job(), {"kind": "Pod"})), "spec.jobs[1]", "is a Pod; write a Job of batch/v1"),
        (SimulationSpec(jobs=(a_job(pods=MOST_ADDED + 1),)), "spec.jobs[0]", "creates 10001 pods at first"),
        (SimulationSpec(changes=("nodes:spot=+10001",)), "spec.changes[0]", "there would be 10002 nodes"),
    ],
)
async def test_what_cannot_be_tried_is_told(spec: SimulationSpec, field: str, told: str) -> None:
    with pytest.raises(Refused, match=told) as caught:
        await answered(a_full_queue(), spec)
    (cause,) = caught.value.details["causes"]
    assert (caught.value.code, cause["field"], caught.value.details["name"]) == (422, field, "mine")


async def test_it_ends_early_and_says_how_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its CPU time is used up in the third simulation, which leaves no trace."""
    plain, begun = Comparison.steps, list[str]()

    def steps(comparison: Comparison, seed: str) -> Any:
        begun.append(seed)
        yield from plain(comparison, seed)

    monkeypatch.setattr(Comparison, "steps", steps)
    used = "controller.extension_api.queueing.simulations.process_time"
    monkeypatch.setattr(used, lambda: 25.0 if len(begun) > 2 else 1.0)
    found = await row(a_full_queue(), SimulationSpec(changes=(MORE,), runs=9))
    assert [one.simulations for one in found.outcomes] == [2, 2]
    monkeypatch.setattr(used, lambda: 25.0)
    with pytest.raises(Refused, match="not one simulation so long was made in the time") as caught:
        await answered(a_full_queue(), SimulationSpec(hours=700))
    assert (caught.value.code, caught.value.details["causes"][0]["field"]) == (422, "spec.hours")


async def test_it_ends_in_time_for_the_request() -> None:
    with pytest.raises(Refused, match="in the time that an answer may take"):
        await answered(a_full_queue(), SimulationSpec(), seconds=0.001)


class HeldForks(Forks):
    """Begins to work when it may, and counts how many copies there are at a time."""

    def __init__(self) -> None:
        super().__init__(2)
        self.may_begin = asyncio.Event()
        self.now = self.most = 0

    async def run(self, work: Callable[[], bytes], *, seconds: float, cpu_seconds: int) -> bytes:
        self.now += 1
        self.most = max(self.most, self.now)
        await self.may_begin.wait()
        try:
            return await super().run(work, seconds=seconds, cpu_seconds=cpu_seconds)
        finally:
            self.now -= 1


async def test_one_at_a_time_and_who_waits_long_comes_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """More than half of its time had passed for the second when the first was done, and not for the third."""
    time, forks = FakeTime(), HeldForks()
    monkeypatch.setattr(clock, "monotonic", lambda: time.now)
    _, creation = simulations(a_full_queue(), forks)

    async def simulated(seconds: float) -> Entry | Refused:
        try:
            return await creation.answer(Question("", SimulationSpec(runs=1), time.now + seconds))
        except Refused as refused:
            return refused

    async with asyncio.TaskGroup() as group:
        asked = [group.create_task(simulated(seconds), name="asked") for seconds in (60.0, 60.0, 600.0)]
        await turns()
        time.now += 31.0
        forks.may_begin.set()
    first, second, third = (task.result() for task in asked)
    assert forks.most == 1
    assert isinstance(first, Entry)
    assert isinstance(third, Entry)
    assert isinstance(second, Refused)
    assert (second.code, second.retry_seconds) == (429, 5)
    assert second.message == "the simulations of others came first for 31 s; try again later"


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ({"hours": 0}, "0.01: How many hours"),
        ({"hours": 745}, "744"),
        ({"runs": 101}, "100: How many simulations"),
        ({"resolution": 0.01}, "0.1: Seconds of a step"),
        ({"seed": 2**63}, "A whole number"),
        ({"changes": [MORE] * 101}, "length <= 100: At most 100 changes"),
        ({"backfillDepth": 1}, "unknown field"),
    ],
)
def test_bounds_are_told_with_what_they_are_of(spec: dict[str, Any], told: str) -> None:
    resource, creation = simulations(a_full_queue())
    body = {"apiVersion": API_VERSION, "kind": "Simulation", "spec": spec}
    with pytest.raises(Refused) as caught:
        read_sent(resource, creation.spec, msgspec.json.encode(body))
    assert told in caught.value.message
