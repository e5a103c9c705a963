"""Notifications beside the decisions, from the cache to a real HTTP receiver, by a file that may change."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from controller.cache.cluster import ClusterCache
from controller.core.workloads.decisions import Admit
from controller.core.workloads.pods import Pod
from controller.kube import clock
from controller.kube.backoff import Backoff
from controller.notifications import outbox, workloads
from controller.runtime import notification_lane as tuned
from controller.runtime.executor import Released
from controller.runtime.notification_lane import NotificationLane
from controller.simulator.eta import Eta, Unknown
from controller.telemetry.metrics import ControllerMetrics
from controller.visibility.start_forecasts import StartForecasts
from tests.support.budgets import NOON, a_budget, a_counting_cache, a_run, a_sliding, put
from tests.support.builders import a_cache, a_cluster_queue, a_local_queue, a_pod, a_released_pod, a_shape, decided
from tests.support.eventually import eventually
from tests.support.notices import a_file, a_receiver, a_route, an_eviction
from tests.support.receiving import Receiver, a_server

ALL = ["Admitted", "Late", "Evicted"]
BUDGET = a_budget(2, period=a_sliding())
DAILY = a_budget(2)  # here, since it reads the file of a time zone


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rounds of hundredths."""
    monkeypatch.setattr(workloads, "COLLECT_SECONDS", 0.1)
    monkeypatch.setattr(tuned, "ROUND_SECONDS", 0.02)
    monkeypatch.setattr(tuned, "LOOK_SECONDS", 0.05)
    monkeypatch.setattr(outbox, "BACKOFF", Backoff(first=0.01, longest=0.05))


class Lane:
    """A lane over a cache, with the file that it reads and the server that it tells."""

    def __init__(self, cache: ClusterCache, folder: Path, server: Receiver, *, has_forecasts: bool = True) -> None:
        self.cache, self.server, self.folder, self.metrics = cache, server, folder, ControllerMetrics()
        self.forecasts = StartForecasts()
        self.admits: dict[str, Admit] = {}
        forecasts = self.forecasts if has_forecasts else None
        self.lane = NotificationLane(cache, folder / "notifications.yaml", self.metrics, forecasts)

    async def write(self, *routes: dict[str, Any], cluster: str | None = None, **paths: str) -> None:
        """Write the file: receivers by name, at a path of the server; `hook` and `chat` unless others are given."""
        forms = {"chat": "Slack"}
        receivers = [
            a_receiver(name, url=self.server.url(path), format=forms.get(name, "CloudEvents"))
            for name, path in (paths or {"hook": "/hook", "chat": "/chat"}).items()
        ]
        routes = routes or (a_route("hook", "chat", events=ALL),)
        body = {"cluster": cluster, "receivers": receivers, "routes": list(routes)}
        await asyncio.to_thread(a_file, self.folder, body)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(self.lane.run(), name="notifications")
            yield
            task.cancel()

    def release(self, pod: Pod, at: float | None = None) -> None:
        """Release a pod that waits, as the executor does: the cache has the answer first."""
        self.admits |= {one.uid: one for one in decided(self.cache).admits}
        admit = self.admits[pod.uid]
        stamped = replace(pod, gates=(), cluster_queue="team-a", flavor="spot", resource_version="2")
        self.cache.update_pod(replace(stamped, admitted_at=at or clock.now()))
        self.cache.settle(pod.uid)
        self.lane.released(Released(pod, admit))

    async def types(self, *expected: str, path: str = "/hook") -> list[dict[str, Any]]:
        """Wait until CloudEvents of these types have come, and no others."""

        def came() -> list[dict[str, Any]]:
            bodies = self.server.on(path)
            assert [one["type"].split(".")[-2] for one in bodies] == list(expected)
            return bodies

        return await eventually(came, seconds=20)

    async def looked(self, receiver: str = "hook") -> None:
        """Wait until the first round is over."""
        labels = {"receiver": receiver}
        found = self.metrics.registry.get_sample_value
        assert await eventually(lambda: found("penstock_notifications_pending", labels) is not None)

    def over(self, receiver: str, result: str, event: str = "admitted") -> float:
        """How many notices about workloads ended so."""
        labels = {"receiver": receiver, "type": f"dev.penstock.workload.{event}.v1", "result": result}
        return self.metric("penstock_notifications_total", **labels)

    def metric(self, name: str, **labels: str) -> float:
        return self.metrics.registry.get_sample_value(name, labels) or 0.0


@asynccontextmanager
async def a_lane(cache: ClusterCache, folder: Path, **options: Any) -> AsyncIterator[Lane]:
    async with a_server() as server:
        yield Lane(cache, folder, server, **options)


async def test_an_admission_and_an_eviction_arrive(tmp_path: Path) -> None:
    pod = a_pod("first", created=clock.now() - 5)
    async with a_lane(a_cache(pod), tmp_path) as lane:
        await lane.write(cluster="prod")
        async with lane.running():
            lane.release(pod)
            (event,) = await lane.types("admitted")
            assert (event["source"], event["data"]["flavors"]) == ("/penstock/prod", ["spot"])
            lane.lane.evicted(an_eviction(lane.cache.pods["first"]))
            await lane.types("admitted", "evicted")
            lines = await eventually(lambda: lane.server.on("/chat")[1:] and lane.server.on("/chat"))
            assert [one["text"].split(":")[0] for one in lines] == ["[prod] Admitted", "[prod] Evicted"]
    assert (lane.over("hook", "sent"), lane.over("hook", "sent", "evicted")) == (1, 1)


async def test_a_receiver_that_hangs_holds_up_no_other(tmp_path: Path) -> None:
    pods = [a_pod(name, created=clock.now()) for name in ("a", "b")]
    async with a_server(Receiver(delay=60)) as hanging, a_lane(a_cache(*pods), tmp_path) as lane:
        receivers = [a_receiver("slow", url=hanging.url()), a_receiver("hook", url=lane.server.url())]
        body = {"receivers": receivers, "routes": [a_route("slow", "hook")]}
        await asyncio.to_thread(a_file, tmp_path, body)
        async with lane.running():
            for pod in pods:
                lane.release(pod)
            await lane.types("admitted", "admitted")
            await eventually(lambda: lane.metric("penstock_notifications_pending", receiver="slow") == 2)
            assert len(hanging.arrivals) == 1


async def test_a_pod_that_is_gone_at_once_was_admitted(tmp_path: Path) -> None:
    pod = a_pod("first", created=clock.now())
    async with a_lane(a_cache(pod), tmp_path) as lane:
        await lane.write()
        (admit,) = decided(lane.cache).admits
        lane.cache.drop_pod("first")
        lane.lane.released(Released(pod, admit))
        async with lane.running():
            (event,) = await lane.types("admitted")
            assert (event["data"]["clusterQueue"], event["data"]["flavors"]) == ("team-a", ["spot"])


async def test_admissions_of_a_leader_before_go_to_programs_alone(tmp_path: Path) -> None:
    now = clock.now()
    recent, old = (a_released_pod(name, admitted_at=now - ago) for name, ago in (("recent", 60), ("old", 4000)))
    async with a_lane(a_cache(recent, old), tmp_path) as lane:
        await lane.write()
        async with lane.running():
            (event,) = await lane.types("admitted")
            assert event["id"] == f"admitted/recent/{int(now - 60)}"
        await lane.lane.flush()
        assert lane.server.on("/chat") == []


async def test_who_waits_longer_than_first_forecast_is_late(tmp_path: Path) -> None:
    now = clock.now()
    pods = [a_pod(name, a_shape(cpu="64"), created=now - 600) for name in ("late", "later", "unknown")]
    async with a_lane(a_cache(*pods), tmp_path) as lane:
        await lane.write()
        decided(lane.cache)
        soon = Eta("default/later", now + 3000, now + 4000, now + 5000)
        first = Eta("default/late", now - 300, now - 200, now - 100)
        unknown = Unknown("default/unknown", "who knows")
        lane.forecasts.take({"late": first, "later": soon, "unknown": unknown}, now - 400)
        lane.forecasts.take({"late": soon, "later": soon, "unknown": unknown}, now - 30)
        async with lane.running():
            assert await eventually(lambda: lane.lane.wants_forecasts)
            (event,) = await lane.types("late")
            assert event["data"]["workload"]["name"] == "late"
            assert event["data"]["reason"] == "NeverFits"
            assert event["data"]["forecast"]["p90"] == clock.rfc3339(now - 100)
            assert event["data"]["latestForecast"]["p50"] == clock.rfc3339(now + 4000)
            assert event["data"]["clusterQueue"] == "team-a"
            await asyncio.sleep(0.3)
        await lane.types("late")


async def test_a_budget_that_is_used_arrives(tmp_path: Path) -> None:
    now = int(clock.now())
    cache = a_counting_cache(BUDGET, now=now)
    async with a_lane(cache, tmp_path) as lane:
        await lane.write(
            a_route("hook", "chat", events=["BudgetUsed"], budgetPercents=[50, 75, 99], localQueues=["default/main"])
        )
        async with lane.running():
            await lane.looked()
            put(cache, a_run(cpu="100", started=now - 60), now=now)
            events = await lane.types("used", "used")
            assert [one["data"]["percent"] for one in events] == [50, 75]
            assert await eventually(lambda: lane.server.on("/chat"))


async def test_budgets_that_are_used_at_the_start_are_repeats(tmp_path: Path) -> None:
    cache = a_cache(a_run(cpu="100", started=NOON - 120))
    cache.set_cluster_queue("team-a", a_cluster_queue(budgets=[DAILY]))
    async with a_lane(cache, tmp_path) as lane:
        await lane.write(a_route("hook", "chat", events=["BudgetUsed"], budgetPercents=[50]))
        async with lane.running():
            await lane.looked()
            cache.advance(NOON)
            (event,) = await lane.types("used")
            assert event["id"] == "budget/team-a/daily/2026-03-04T00:00:00Z/50"
            await lane.lane.flush()
        assert lane.server.on("/chat") == []


async def test_queues_below_are_paid_for_by_a_budget_above(tmp_path: Path) -> None:
    now = int(clock.now())
    queues = [a_cluster_queue("team-a", budgets=[BUDGET]), a_cluster_queue("child", parent="team-a")]
    doors = [a_local_queue(), a_local_queue("below", "child", namespace="research")]
    cache = a_cache(queues=queues, locals_=doors)
    cache.advance(now)
    async with a_lane(cache, tmp_path) as lane:
        of_budget = {"events": ["BudgetUsed"], "budgetPercents": [50]}
        await lane.write(
            a_route("a", **of_budget, namespaces=["research"]),
            a_route("b", **of_budget, namespaces=["elsewhere"]),
            a="/a",
            b="/b",
        )
        async with lane.running():
            await lane.looked("a")
            put(cache, a_run(cpu="100", started=now - 120), now=now)
            await lane.types("used", path="/a")
        assert lane.server.on("/b") == []


async def test_a_file_that_cannot_be_used_changes_nothing(tmp_path: Path) -> None:
    pod, second = a_pod("first", created=clock.now()), a_pod("second", created=clock.now())
    async with a_lane(a_cache(pod, second), tmp_path) as lane:
        await lane.write()
        async with lane.running():
            lane.release(pod)
            await lane.types("admitted")
            await asyncio.to_thread(a_file, tmp_path, "receivers: [")
            await eventually(lambda: lane.metric("penstock_notifications_file_faulty") == 1)
            lane.release(second)
            await lane.types("admitted", "admitted")
            await lane.write()
            await eventually(lambda: lane.metric("penstock_notifications_file_faulty") == 0)


async def test_a_file_that_comes_later_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pod = a_pod("first", created=clock.now())
    async with a_lane(a_cache(pod), tmp_path) as lane, lane.running():
        await eventually(lambda: lane.metric("penstock_notifications_file_faulty") == 1)
        await asyncio.sleep(0.3)
        assert capsys.readouterr().out.count("notifications_not_read") == 1, "it is looked for again and again"
        await lane.write(a_route("hook"), hook="/hook")
        await eventually(lambda: lane.metric("penstock_notifications_file_faulty") == 0)
        lane.release(pod)
        await lane.types("admitted")


async def test_receivers_come_go_and_move(tmp_path: Path) -> None:
    pods = [a_pod(name, created=clock.now()) for name in ("a", "b")]
    async with a_lane(a_cache(*pods), tmp_path) as lane:
        lane.server.usual = 503
        await lane.write(a_route("hook", "gone"), hook="/old", gone="/gone")
        async with lane.running():
            lane.release(pods[0])
            await eventually(lambda: lane.server.on("/old") and lane.server.on("/gone"))
            await lane.write(a_route("hook", "new"), hook="/moved", new="/new")
            await eventually(lambda: lane.server.on("/moved"))
            lane.server.usual = 200
            lane.release(pods[1])
            await lane.types("admitted", path="/new")
            await eventually(lambda: lane.over("hook", "sent") == 2)
            assert "notify-gone" not in {task.get_name() for task in asyncio.all_tasks()}
    assert (lane.over("gone", "withdrawn"), lane.over("gone", "sent"), lane.over("new", "sent")) == (1, 0, 1)
    assert {one["id"].split("/")[1] for one in lane.server.on("/moved")} == {"a", "b"}


async def test_without_forecasts_a_file_that_wants_them_is_faulty(tmp_path: Path) -> None:
    async with a_lane(a_cache(), tmp_path, has_forecasts=False) as lane:
        await lane.write()
        async with lane.running():
            await eventually(lambda: lane.metric("penstock_notifications_file_faulty") == 1)
        assert not lane.lane.wants_forecasts


async def test_at_the_end_all_that_happened_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workloads, "COLLECT_SECONDS", 600)
    pod = a_pod("first", created=clock.now())
    async with a_lane(a_cache(pod), tmp_path) as lane:
        await lane.write()
        async with lane.running():
            await eventually(lambda: lane.lane.wants_forecasts)
            lane.release(pod)
            assert lane.server.arrivals == []
            await lane.lane.flush()
            await lane.types("admitted")


async def test_workloads_without_pods_are_forgotten_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuned, "FORGET_SECONDS", 0.05)
    pod = a_pod("first", created=clock.now())
    async with a_lane(a_cache(pod), tmp_path) as lane:
        await lane.write(a_route("hook"), hook="/hook")
        async with lane.running():
            lane.release(pod, at=clock.now() - 5)
            await lane.types("admitted")
            lane.cache.drop_pod("first")
            await asyncio.sleep(0.3)
            again = replace(pod, resource_version="9")
            lane.cache.put_pod(again)
            lane.release(again)
            assert len(await lane.types("admitted", "admitted")) == 2
