"""A PostgreSQL server that goes away: pods go on, the metric says so, and afterwards all of it is there once."""

from __future__ import annotations

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory

from sqlalchemy import select

from controller.history.reader import Reader
from controller.history.run_store import HistoryError
from controller.history.schema import runs
from controller.history.store import Store
from controller.runtime.history_lane import History, HistoryLane
from controller.telemetry.metrics import ControllerMetrics
from tests.support.builders import a_cache, a_pod, a_released_pod
from tests.support.eventually import eventually
from tests.support.postgresql import a_server


def started(store: Store) -> dict[str, int]:
    """When each pod has started, by uid; nothing while nobody answers."""
    try:
        with store.connection() as connection:
            return {row.uid: row.started for row in connection.execute(select(runs))}
    except HistoryError:
        return {}


def test_a_server_that_goes_away_loses_nothing() -> None:
    with TemporaryDirectory(prefix="penstock-postgresql-") as folder, a_server(Path(folder)) as server:
        store, metrics = Store(server.url), ControllerMetrics()
        lane = HistoryLane(a_cache(), History(store, 0, Reader(store)), metrics)

        async def through_an_outage() -> None:
            async with asyncio.TaskGroup() as group:
                running = group.create_task(lane.run(), name="history")
                lane.pods.put_pod(a_pod("a"))
                await has(a=0)
                await asyncio.to_thread(server.stop)
                lane.pods.put_pod(a_pod("b"))
                lane.pods.put_pod(a_released_pod("a", started=70))
                failed = {"result": "failed"}
                read = metrics.registry.get_sample_value
                await eventually(lambda: (read("penstock_history_writes_total", failed) or 0) >= 1)
                assert read("penstock_history_pending") == 2
                await asyncio.to_thread(server.start)
                await has(a=70, b=0)
                running.cancel()

        async def has(**expected: int) -> None:
            async def is_so() -> bool:
                assert await asyncio.to_thread(started, store) == expected
                return True

            await eventually(is_so)

        asyncio.run(through_an_outage())
