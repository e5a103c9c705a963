"""A controller that starts beside thousands of different pods of one user: no turn of the event loop grows by them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import pytest

from controller.cache.cluster import ClusterCache
from controller.cache.sinks import PodSink
from controller.core.reasons import Reason
from controller.core.workloads.decisions import Admit, Evict
from controller.core.workloads.pods import Pod
from controller.runtime import gauges
from controller.runtime.loop import DecisionLoop
from controller.telemetry.metrics import ControllerMetrics
from tests.support.builders import a_cache, a_cluster_queue, a_local_queue, a_node, a_pod, a_quota, a_shape
from tests.support.conditions import SlowClient, a_lane
from tests.support.fake_time import FakeTime, turns
from tests.support.loop_work import Work, watched

DOORS = [a_local_queue("main", "team-a"), a_local_queue("other", "team-b")]
QUEUES = [a_cluster_queue("team-a", a_quota(cpu="1")), a_cluster_queue("team-b", a_quota(cpu="8"))]


class Hands:
    """An executor and an evictor that write down what they are given."""

    def __init__(self) -> None:
        self.taken: list[str] = []

    def room(self) -> int:
        return 100

    def submit(self, what: Admit | Iterable[Evict]) -> None:
        self.taken += [what.uid] if isinstance(what, Admit) else []


class Start:
    """What runs at a start: a list is taken in, decisions are made, conditions written, and somebody scrapes."""

    def __init__(self, time: FakeTime, flood: int) -> None:
        self.hands = Hands()
        self.decisions: list[DecisionLoop] = []
        self.cache = a_cache(nodes=[a_node(cpu="64", pods="5000")], queues=QUEUES, locals_=DOORS, on_change=self._wake)
        self._time = time
        self._flood = [self._a_pod(number) for number in range(flood)]
        self.decisions = [DecisionLoop(self.cache, self.hands, self.hands, ControllerMetrics())]

    def _wake(self) -> None:
        for one in self.decisions:
            one.wake()

    def _a_pod(self, number: int) -> Pod:
        return a_pod(f"p{number:04}", a_shape(cpu=f"{1000 + number}m"), created=self._time.now - 60)

    async def run(self, monkeypatch: pytest.MonkeyPatch, *, turns_after: int) -> Work:
        """Run until another user's pod, which comes right after the list, is in, and for so many turns more."""
        lane = a_lane(self.cache, SlowClient(self._time, 0.001))
        with watched(monkeypatch) as work:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._list(), name="list")
                tasks = [
                    group.create_task(self.decisions[0].run(), name="decide"),
                    group.create_task(lane.run(), name="conditions"),
                    group.create_task(self._scrape(), name="scrape"),
                ]
                while "other" not in self.hands.taken:
                    await turns(1)
                await turns(turns_after)
                for task in tasks:
                    task.cancel()
        return work

    async def _list(self) -> None:
        for _ in PodSink(self.cache).replace(self._flood):
            await turns(1)
        self.cache.put_pod(a_pod("other", a_shape(cpu="1"), queue="other", created=self._time.now))

    async def _scrape(self) -> None:
        while True:
            for _ in gauges.refresh(self.cache, ControllerMetrics()):
                await turns(1)
            await turns(20)


def told(cache: ClusterCache) -> int:
    """How many pods wait for a reason that is known."""
    runs = cache.backlog.runs.items()
    return sum(len(run) for kind, run in runs if cache.reasons.of(kind).reason is not Reason.PENDING)


async def test_no_turn_of_the_loop_grows_with_the_flood(time: FakeTime, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("controller.cache.queue.pauses.PAUSE_SECONDS", 0.0)
    longest = []
    for flood in (200, 600):
        start = Start(time, flood)
        work = await start.run(monkeypatch, turns_after=flood // 2)
        assert told(start.cache) == flood - 1
        longest.append(work.longest)
    assert longest[1] <= 1.15 * longest[0]


async def test_another_users_pod_is_in_after_no_more_turns(time: FakeTime, monkeypatch: pytest.MonkeyPatch) -> None:
    told_by_then = []
    for flood in (200, 600):
        start = Start(time, flood)
        await start.run(monkeypatch, turns_after=0)
        told_by_then.append(told(start.cache))
    assert max(told_by_then) <= 3 * 128
