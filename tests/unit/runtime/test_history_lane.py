"""The history beside the decisions: all of it once, whatever becomes of the database meanwhile."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from sqlalchemy import select

from controller.cache.cluster import ClusterCache
from controller.history.health import HistoryHealth
from controller.history.reader import Reader
from controller.history.recorder import Change
from controller.history.run_store import HistoryError
from controller.history.runs import Outcome
from controller.history.schema import runs
from controller.history.store import Store
from controller.history.usage_columns import Span
from controller.history.used import Used
from controller.history.wanted import Wanted
from controller.kube import clock
from controller.runtime.history_lane import History, HistoryLane
from controller.telemetry.metrics import ControllerMetrics
from tests.support.builders import a_cache, a_pod, a_released_pod
from tests.support.eventually import eventually
from tests.support.histories import a_change


class Failing(Store):
    """A database that takes nothing while it is down; a slow one writes once it is released."""

    is_down = False
    is_slow = False

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.began, self.release = threading.Event(), threading.Event()

    def prepare(self) -> bool:
        self._fail()
        return super().prepare()

    def write(self, changes: Sequence[Change]) -> None:
        self._fail()
        self.began.set()
        if self.is_slow:
            self.release.wait(20)
        super().write(changes)

    def _fail(self) -> None:
        if self.is_down:
            raise HistoryError(f"{self.name}: the server does not answer")


class Lane:
    """A lane that runs over a cache."""

    def __init__(self, cache: ClusterCache, store: Store, days: int = 0) -> None:
        self.cache, self.store, self.metrics = cache, store, ControllerMetrics()
        self.lane = HistoryLane(cache, History(store, days, Reader(store)), self.metrics)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Lane]:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(self.lane.run(), name="history")
            yield self
            task.cancel()

    async def written(self) -> dict[str, tuple[str, int]]:
        """Outcome and start by uid; nothing while there is no table."""
        return await asyncio.to_thread(self._written)

    def _written(self) -> dict[str, tuple[str, int]]:
        try:
            with self.store.connection() as connection:
                return {row.uid: (row.outcome, row.started) for row in connection.execute(select(runs))}
        except HistoryError:
            return {}

    async def has(self, **expected: tuple[str, int]) -> bool:
        """Wait until this is written, and no other; it raises AssertionError where that does not come."""

        async def is_so() -> bool:
            found = await self.written()
            assert found == expected
            return True

        return await eventually(is_so)

    def metric(self, name: str, **labels: str) -> float:
        return self.metrics.registry.get_sample_value(name, labels) or 0.0


@pytest.fixture
def store(tmp_path: Path) -> Failing:
    """A database without tables."""
    return Failing(f"sqlite:///{tmp_path}/history.db")


async def test_pods_are_written_and_their_ends(store: Failing) -> None:
    cache = a_cache(a_pod("before"))
    async with Lane(cache, store).running() as lane:
        assert await lane.has(before=("", 0))
        lane.lane.pods.put_pod(a_released_pod("now", node="node-1", started=70))
        assert await lane.has(before=("", 0), now=("", 70))
        lane.lane.pods.drop_pod("now")
        assert await lane.has(before=("", 0), now=(Outcome.DELETED, 70))
        assert "now" not in cache.pods
        assert lane.metric("penstock_history_pending") == 0


async def test_a_database_that_is_down_loses_nothing(store: Failing) -> None:
    store.is_down = True
    async with Lane(a_cache(), store).running() as lane:
        for name in "abc":
            lane.lane.pods.put_pod(a_pod(name))
        lane.lane.pods.drop_pod("b")
        await eventually(lambda: lane.metric("penstock_history_writes_total", result="failed") >= 1)
        store.is_down = False
        assert await lane.has(a=("", 0), b=(Outcome.DELETED, 0), c=("", 0))
        assert lane.metric("penstock_history_lost") == 0


async def test_it_says_how_far_it_is_behind_and_why(store: Failing) -> None:
    lane = Lane(a_cache(), store)
    assert lane.lane.health() == HistoryHealth(), "before it writes, nothing is late"
    store.is_down = True
    async with lane.running():
        lane.lane.pods.put_pod(a_pod("a"))
        await eventually(lambda: lane.lane.health().behind_seconds >= 2)
        health = lane.lane.health()
        assert (health.unwritten, health.lost) == (1, 0)
        assert health.error.endswith("history.db: the server does not answer")
        store.is_down = False
        await eventually(lambda: lane.lane.health() in (HistoryHealth(), HistoryHealth(behind_seconds=1)))


async def test_samples_are_written_at_the_end(store: Failing) -> None:
    lane = Lane(a_cache(), store)
    async with lane.running():
        lane.lane.pods.put_pod(a_released_pod("a", node="node-1", started=70))
        assert await lane.has(a=("", 70))
        lane.lane.recorder.sampled("a", {"cpu": 5, "memory": 7})
        await lane.lane.flush()
    (found,) = await asyncio.to_thread(Reader(store).find, Wanted(Span(0, 2**40)), most=9)
    assert found.used == Used(1, {"cpu": 5, "memory": 7}, {"cpu": 5, "memory": 7})


async def test_a_file_that_is_deleted_is_filled_anew(tmp_path: Path, store: Failing) -> None:
    def delete() -> None:
        for path in tmp_path.iterdir():
            path.unlink()

    cache = a_cache(a_pod("one"), a_released_pod("two", started=7))
    async with Lane(cache, store).running() as lane:
        assert await lane.has(one=("", 0), two=("", 7))
        await asyncio.to_thread(delete)
        lane.lane.pods.put_pod(a_pod("three"))
        assert await lane.has(one=("", 0), two=("", 7), three=("", 0))


async def test_a_file_that_is_deleted_is_missed_without_news(
    tmp_path: Path, store: Failing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("controller.runtime.history_lane.CHECK_SECONDS", 0.5)

    def delete() -> None:
        for path in tmp_path.iterdir():
            path.unlink()

    async with Lane(a_cache(a_pod("one")), store).running() as lane:
        assert await lane.has(one=("", 0))
        await asyncio.to_thread(delete)
        await eventually(lambda: lane.metric("penstock_history_writes_total", result="failed") >= 1)
        assert await lane.has(one=("", 0))


async def test_runs_whose_pods_are_gone_end_at_the_start(store: Failing) -> None:
    await asyncio.to_thread(store.prepare)
    await asyncio.to_thread(store.write, [a_change("gone", started=200), a_change("there", started=200)])
    async with Lane(a_cache(a_released_pod("there", started=200)), store).running() as lane:
        assert await lane.has(gone=(Outcome.DELETED, 200), there=("", 200))


async def test_what_ended_long_ago_is_deleted(store: Failing) -> None:
    now = int(clock.now())
    await asyncio.to_thread(store.prepare)
    old, new = (a_change(name, started=1, ended=now - days * 86_400) for name, days in (("old", 3), ("new", 1)))
    await asyncio.to_thread(store.write, [old, new])
    async with Lane(a_cache(), store, days=2).running() as lane:
        assert await lane.has(new=("", 1))


async def test_at_the_end_all_is_written(store: Failing) -> None:
    lane = Lane(a_cache(), store)
    for number in range(1200):
        lane.lane.pods.put_pod(a_pod(f"pod-{number}"))
    await lane.lane.flush()
    assert len(await lane.written()) == 1200


async def test_the_end_waits_for_the_batch_that_is_under_way(store: Failing) -> None:
    store.is_slow = True
    async with Lane(a_cache(a_pod("first")), store).running() as lane:
        assert await asyncio.to_thread(store.began.wait, 20)
        lane.lane.pods.put_pod(a_pod("second"))
        async with asyncio.TaskGroup() as group:
            group.create_task(lane.lane.flush(), name="flush")
            await asyncio.sleep(0)
            store.release.set()
        assert set(await lane.written()) == {"first", "second"}
        assert lane.metric("penstock_history_writes_total", result="failed") == 0
        assert lane.metric("penstock_history_writes_total", result="done") == 2
