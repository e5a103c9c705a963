"""Quotas that change by themselves on a real control plane: with the nodes there are, and with the time of day."""

from __future__ import annotations

import datetime as dt
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from controller.kube import clock
from controller.kube.client import STRATEGIC_PATCH
from tests.support.eventually import eventually
from tests.support.team import TEAM_LABEL, Team, is_gated

pytestmark = pytest.mark.integration

_KOLKATA = ZoneInfo("Asia/Kolkata")


async def until_quota(team: Team, quota: str, seconds: float = 20) -> dict[str, Any]:
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
        await team.looked_at()
        await until_quota(team, "6")
        await until_quota(team, "4", seconds=40)
        again = ready(holds=True, since=clock.now())
        await team.client.patch(f"{node}/status", {"status": again}, content_type=STRATEGIC_PATCH)
        await until_quota(team, "6")
    await until_quota(team, "4")


@pytest.mark.timeout(240)
async def test_a_window_opens_and_closes_at_its_time_and_what_runs_goes_on(team: Team) -> None:
    await team.nodes("spot", cpu="8")
    await team.flavor("spot")
    # the next minute, or the one after when there would be no time to see the window closed
    opens = (int(clock.now() + 15) // 60 + 1) * 60
    there = dt.datetime.fromtimestamp(opens, _KOLKATA)
    window = {
        "name": "burst",
        "start": f"{there.minute} {there.hour} {there.day} {there.month} *",
        "duration": "20s",
        "timeZone": "Asia/Kolkata",
        "flavors": [{"name": team.full("spot"), "resources": [{"name": "cpu", "nominalQuota": 4}]}],
    }
    await team.cluster_queue({"spot": {"cpu": 1}}, schedule=[window])
    await team.local_queue()
    await team.pod("large", "3")
    closed = await until_quota(team, "1")
    assert closed["schedule"] == {"open": [], "nextChange": clock.rfc3339(opens), "opens": ["burst"]}
    await team.until_waiting("large", "QuotaExceeded")

    opened = await until_quota(team, "4", seconds=opens - clock.now() + 10)
    assert opened["schedule"] == {"open": ["burst"], "nextChange": clock.rfc3339(opens + 20), "closes": ["burst"]}
    await team.until_bound("large")

    status = await until_quota(team, "1", seconds=30)
    assert (status["schedule"]["open"], status["schedule"]["opens"]) == ([], ["burst"])
    assert "OverQuota" in {condition["type"] for condition in status["conditions"]}
    await team.pod("late", "1")
    await team.until_waiting("late", "QuotaExceeded")
    assert (await team.get("large"))["metadata"].get("deletionTimestamp") is None
