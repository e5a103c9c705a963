"""In which order and how fast conditions are written, and what a turn of that costs."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from controller.cache.cluster import ClusterCache
from controller.core.workloads.pods import Pod, PublishedCondition
from controller.runtime import gauges
from controller.telemetry.metrics import ControllerMetrics
from tests.support.builders import a_cache, a_cluster_queue, a_pod, a_released_pod, a_saying, a_shape, decided
from tests.support.conditions import SlowClient, a_lane, answer_to, answering, names, write
from tests.support.fake_client import FakeClient
from tests.support.fake_time import FakeTime, turns
from tests.support.loop_work import watched

NEVER = a_shape(cpu="9")


def a_waiting_pod(name: str, created: float, **fields: Any) -> Pod:
    return a_pod(name, NEVER, created=created, **fields)


async def test_a_scrape_costs_a_turn_the_same_however_many_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    longest = []
    for count in (300, 1200):
        queues = [a_cluster_queue(f"q{n}") for n in range(count)]
        cache = a_cache(*(a_pod(f"p{n}", a_shape(cpu=f"{n + 1}")) for n in range(count)), queues=queues)
        decided(cache)
        metrics = ControllerMetrics()

        async def scrape(cache: ClusterCache = cache, metrics: ControllerMetrics = metrics) -> None:
            for _ in gauges.refresh(cache, metrics):
                await asyncio.sleep(0)

        with watched(monkeypatch) as work:
            async with asyncio.TaskGroup() as group:
                group.create_task(scrape(), name="scrape")
        assert sum(one.value for one in next(iter(metrics.pending.collect())).samples) == count
        longest.append(work.longest)
    assert longest[1] <= longest[0] * 1.1


@pytest.mark.parametrize(("takes", "rests"), [(0.05, 0.2), (0.001, 0.08)])
async def test_a_writer_rests_four_times_as_long_as_it_wrote(time: FakeTime, takes: float, rests: float) -> None:
    cache = a_cache(a_waiting_pod("a", time.now - 60))
    decided(cache)

    client = FakeClient()

    def slowly() -> bytes:
        time.now += takes
        return answer_to(client.calls[-1], 1)

    await write(cache, client.will("PATCH", slowly), rounds=4)
    assert pytest.approx(rests) in time.slept


async def test_several_are_written_at_a_time_and_no_more_than_eight(time: FakeTime) -> None:
    cache = a_cache(*(a_waiting_pod(f"p{n:02}", time.now - 60) for n in range(40)))
    decided(cache)
    client = SlowClient(time, 0.01)
    calls = await write(cache, client, rounds=60)
    assert (client.most, len({call.path for call in calls})) == (8, len(calls))


async def test_nothing_is_written_while_releases_wait(time: FakeTime) -> None:
    cache, client, waits = a_cache(a_waiting_pod("a", time.now - 60)), answering(), [True]
    decided(cache)
    lane = a_lane(cache, client, releases_wait=lambda: waits[0])
    async with asyncio.TaskGroup() as group:
        task = group.create_task(lane.run(), name="conditions")
        await turns(30)
        assert client.made("PATCH") == []
        waits[0] = False
        await turns(5)
        task.cancel()
    assert names(client.made("PATCH")) == ["a"]


async def test_released_ones_come_first_then_first_words_then_others(time: FakeTime) -> None:
    released = [a_released_pod(f"r{n}", created=time.now - 9, said=a_saying()) for n in range(20)]
    silent = [a_waiting_pod(f"s{n}", time.now - 60 - n) for n in range(20)]
    changed = [a_waiting_pod(f"c{n}", time.now - 900, said=a_saying(at=time.now - 500)) for n in range(20)]
    cache = a_cache(*changed, *silent, *released)
    decided(cache)
    found = names(await write(cache, answering(), rounds=60))
    assert "".join(name[0] for name in found)[:60] == "r" * 20 + "s" * 20 + "c" * 20


async def test_a_pod_due_again_while_it_is_told_has_one_writer(time: FakeTime) -> None:
    cache = a_cache(a_waiting_pod("a", time.now - 60))
    decided(cache)
    client = SlowClient(time, 0.01)
    lane = a_lane(cache, client)
    workload = cache.backlog.of_pod("a")
    assert workload is not None
    async with asyncio.TaskGroup() as group:
        task = group.create_task(lane.run(), name="conditions")
        for _ in range(3):
            await turns(1)
            cache.reasons.mark("a", kind=workload.kind, created=time.now - 60, said=None)
        await turns(1)
        assert client.most == 1
        task.cancel()


async def test_a_pod_released_before_its_first_word_says_nothing(time: FakeTime) -> None:
    cache = a_cache(a_waiting_pod("a", time.now - 60))
    decided(cache)
    cache.put_pod(a_released_pod("a", NEVER, created=time.now - 60))
    assert await write(cache, FakeClient(), rounds=9) == []


@pytest.mark.parametrize("says", [None, a_saying("False", "NeverFits")])
async def test_a_turn_of_the_lane_costs_the_same_however_many_wait(
    time: FakeTime, monkeypatch: pytest.MonkeyPatch, says: PublishedCondition | None
) -> None:
    longest = []
    for count in (150, 600):
        pods = [a_pod(f"p{n}", a_shape(cpu=f"{9 + n}"), created=time.now - 60, said=says) for n in range(count)]
        cache = a_cache(*pods)
        decided(cache)
        with watched(monkeypatch) as work:
            await write(cache, answering(), rounds=12)
        longest.append(work.longest)
    assert longest[1] <= longest[0] * 1.1


async def test_pods_that_say_all_keep_no_other_from_being_told(time: FakeTime) -> None:
    said = [a_waiting_pod(f"p{n}", time.now - 900, said=a_saying("False", "NeverFits")) for n in range(450)]
    cache = a_cache(*said, a_waiting_pod("other", time.now - 60, said=a_saying()))
    decided(cache)
    assert names(await write(cache, answering(), rounds=12)) == ["other"]
