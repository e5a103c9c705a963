"""Quotas that change by themselves on a real control plane: with the nodes there are, and with the time of day."""

from __future__ import annotations

import datetime as dt
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from controller.core.keys import EVICTION
from controller.kube import clock
from controller.kube.client import JSON_PATCH, STRATEGIC_PATCH
from tests.support.eventually import eventually
from tests.support.team import TEAM_LABEL, Team, is_gated
from tests.support.team_owners import a_replica_set, evictions_told, pods_of, until_running

pytestmark = pytest.mark.integration

_KOLKATA = ZoneInfo("Asia/Kolkata")


async def until_quota(team: Team, quota: str, seconds: float = 40) -> dict[str, Any]:
    """Wait until the status says this quota of cpu; return the status."""

    async def said() -> dict[str, Any]:
        status = await team.status("clusterqueues", team.full("cq"))
        (flavor,) = status["flavorsUsage"]
        assert [r["quota"] for r in flavor["resources"] if r["name"] == "cpu"] == [quota], status
        return status

    return await eventually(said, seconds=seconds, message=f"the quota did not become {quota}")


async def until_admitted(team: Team, count: int, reason: str = "QuotaExceeded") -> None:
    """Wait until so many pods have lost our gate and all others are told to wait for quota, or for what is said."""

    async def admitted() -> bool:
        gated = [name for name, pod in (await team.all()).items() if is_gated(pod)]
        assert len(await team.all()) - len(gated) == count
        for name in gated:
            await team.until_waiting(name, reason)
        return True

    await eventually(admitted, message=f"not {count} pods were admitted")


def ready(*, holds: bool, since: float) -> dict[str, Any]:
    status = "True" if holds else "False"
    return {"conditions": [{"type": "Ready", "status": status, "lastTransitionTime": clock.rfc3339(since)}]}


@asynccontextmanager
async def a_node_without_kubelet(team: Team, shape: str, cpu: str) -> AsyncIterator[str]:
    """A node of the shape that says of itself what the test says."""
    name = team.full(f"{shape}-own")
    labels = {TEAM_LABEL: team.id, "shape": shape}
    status = {"allocatable": {"cpu": cpu, "pods": "10"}, **ready(holds=True, since=clock.now())}
    await team.client.post("/api/v1/nodes", {"metadata": {"name": name, "labels": labels}, "status": status})
    try:
        yield f"/api/v1/nodes/{name}"
    finally:
        await team.client.delete(f"/api/v1/nodes/{name}")


async def test_a_share_follows_nodes_that_come_are_cordoned_and_go(team: Team) -> None:
    await team.nodes("spot", 2, cpu="4")
    await team.flavor("spot")
    await team.cluster_queue({"spot": {"cpu": "50%"}})
    await team.local_queue()
    await until_quota(team, "4")
    await team.pods(6)
    await until_admitted(team, 4)
    (first, _) = await team.nodes("spot", 2, cpu="4")
    await until_quota(team, "8")
    await until_admitted(team, 6)
    path = f"/api/v1/nodes/{first}"
    await team.client.patch(path, {"spec": {"unschedulable": True}}, content_type=STRATEGIC_PATCH)
    bound = set(await team.until_bound(*(f"pod-{number}" for number in range(6))))
    await until_quota(team, "8")
    await team.sandbox.remove_nodes(team.full("spot"), 1)
    await until_quota(team, "6")
    assert bound == set(await team.all())


async def test_a_share_of_a_limit_is_of_the_nodes_of_the_queues_below(team: Team) -> None:
    await team.nodes("spot", 2, cpu="4")
    await team.flavor("spot")
    await team.cluster_queue({}, "org", limits=[{"name": "cpu", "max": "50%", "perUser": "100%"}])
    await team.cluster_queue({"spot": {"cpu": 64}}, parent=team.full("org"))
    await team.local_queue()
    await team.pods(6)
    await until_admitted(team, 4, "QueueLimit")
    await team.nodes("spot", 2, cpu="4")
    await until_admitted(team, 6)

    async def said() -> bool:
        status = await team.status("clusterqueues", team.full("org"))
        return bool(status["limitsUsage"] == [{"name": "cpu", "total": "6", "max": "8"}])

    await eventually(said)


async def test_a_node_that_is_not_ready_counts_for_five_minutes_more(team: Team) -> None:
    await team.nodes("spot", cpu="4")
    await team.flavor("spot")
    await team.cluster_queue({"spot": {"cpu": "100%"}})
    async with a_node_without_kubelet(team, "spot", "2") as node:
        await until_quota(team, "6")
        fallen = ready(holds=False, since=clock.now() - 280)
        await team.client.patch(f"{node}/status", {"status": fallen}, content_type=STRATEGIC_PATCH)
        await team.visited()
        await until_quota(team, "6")
        await until_quota(team, "4", seconds=60)
        again = ready(holds=True, since=clock.now())
        await team.client.patch(f"{node}/status", {"status": again}, content_type=STRATEGIC_PATCH)
        await until_quota(team, "6")
    await until_quota(team, "4")


def next_window() -> tuple[int, dict[str, Any]]:
    """Return when a window of 30 seconds opens, epoch seconds, and the window, which overrides nothing yet."""
    # the next minute, or the one after when there would be no time to see the window closed
    opens = (int(clock.now() + 15) // 60 + 1) * 60
    there = dt.datetime.fromtimestamp(opens, _KOLKATA)
    start = f"{there.minute} {there.hour} {there.day} {there.month} *"
    return opens, {"name": "burst", "start": start, "duration": "30s", "timeZone": "Asia/Kolkata"}


def cpu_of_spot(team: Team, amount: int) -> list[dict[str, Any]]:
    return [{"name": team.full("spot"), "resources": [{"name": "cpu", "nominalQuota": amount}]}]


async def test_a_window_opens_and_closes_and_running_pods_go_on(team: Team) -> None:
    await team.nodes("spot", cpu="8")
    await team.flavor("spot")
    opens, window = next_window()
    await team.cluster_queue({"spot": {"cpu": 1}}, schedule=[{**window, "flavors": cpu_of_spot(team, 4)}])
    await team.local_queue()
    await team.pod("large", "3")
    closed = await until_quota(team, "1")
    assert closed["schedule"] == {"open": [], "nextChange": clock.rfc3339(opens), "opens": ["burst"]}
    await team.until_waiting("large", "QuotaExceeded")

    opened = await until_quota(team, "4", seconds=opens - clock.now() + 30)
    assert opened["schedule"] == {"open": ["burst"], "nextChange": clock.rfc3339(opens + 30), "closes": ["burst"]}
    await team.until_bound("large")

    status = await until_quota(team, "1", seconds=60)
    assert (status["schedule"]["open"], status["schedule"]["opens"]) == ([], ["burst"])
    assert "OverQuota" in {condition["type"] for condition in status["conditions"]}
    await team.pod("late", "1")
    await team.until_waiting("late", "QuotaExceeded")
    assert (await team.get("large"))["metadata"].get("deletionTimestamp") is None


@pytest.mark.more
async def test_a_window_that_drains_takes_back_what_it_gave(team: Team) -> None:
    await team.nodes("spot", cpu="8")
    await team.flavor("spot")
    opens, window = next_window()
    drains = {**window, "flavors": cpu_of_spot(team, 4), "onClose": "Drain"}
    await team.cluster_queue({"spot": {"cpu": 1}}, schedule=[drains])
    await team.local_queue()
    await a_replica_set(team, "web", 3)
    await until_waiting_of(team, 2)

    await until_quota(team, "4", seconds=opens - clock.now() + 30)
    await until_running(team, "web", 3)
    before = {pod["metadata"]["uid"] for pod in await pods_of(team, "web")}

    await until_quota(team, "1", seconds=60)
    stays = await until_one_stays(team, before)
    assert condition_named(stays, EVICTION) is None
    told = await eventually(lambda: evictions_told(team), message="no Event tells of an eviction")
    text = (
        f"OverQuota: ClusterQueue {team.full('cq')} uses more than it may (onClose Drain of its window burst): flavor "
    )
    assert told == {f"{text}{team.full('spot')}: 3 of 1 cpu; its ReplicaSet makes another"}


async def test_a_quota_that_is_lowered_takes_back_what_is_too_much(team: Team) -> None:
    await team.ready({"spot": {"cpu": 4}}, reclaimOverQuota=True)
    await a_replica_set(team, "web", 3)
    await until_running(team, "web", 3)
    before = {pod["metadata"]["uid"] for pod in await pods_of(team, "web")}
    path = f"/apis/penstock.dev/v1alpha1/clusterqueues/{team.full('cq')}"
    lowered = [{"op": "replace", "path": "/spec/flavors/0/resources/0/nominalQuota", "value": 1}]
    await team.client.patch(path, lowered, content_type=JSON_PATCH)
    await until_one_stays(team, before)
    (told,) = await eventually(lambda: evictions_told(team), message="no Event tells of an eviction")
    assert told.startswith(
        f"OverQuota: ClusterQueue {team.full('cq')} uses more than it may (reclaimOverQuota): flavor "
    )


async def until_waiting_of(team: Team, count: int) -> None:
    """Wait until three pods are made and just so many of them are at the gate."""

    async def waits() -> bool:
        pods = await pods_of(team, "web")
        assert (len(pods), sum(map(is_gated, pods))) == (3, count)
        return True

    await eventually(waits, message=f"not just {count} of the pods wait")


async def until_one_stays(team: Team, before: set[str]) -> dict[str, Any]:
    """Wait until just one of these pods is left, and those made anew wait for quota; return the one."""

    async def stays() -> dict[str, Any]:
        pods = await pods_of(team, "web")
        left = [pod for pod in pods if pod["metadata"]["uid"] in before]
        assert (len(pods), len(left)) == (3, 1)
        for pod in pods:
            if pod not in left:
                await team.until_waiting(pod["metadata"]["name"], "QuotaExceeded")
        return dict(left[0])

    return await eventually(stays, message="not just one of the pods stayed")


def condition_named(pod: dict[str, Any], name: str) -> dict[str, Any] | None:
    return next((dict(one) for one in pod["status"].get("conditions", ()) if one["type"] == name), None)
