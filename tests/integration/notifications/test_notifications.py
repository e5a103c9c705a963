"""What happens on a real control plane arrives at a real HTTP receiver, as CloudEvents and in a chat."""

from __future__ import annotations

import asyncio

import pytest

from controller.core.keys import EXPECTED_RUNTIME
from tests.integration.notifications.conftest import Notified, Told
from tests.support.eventually import eventually
from tests.support.leaders import crash
from tests.support.team import Team
from tests.support.team_owners import a_replica_set, until_running

pytestmark = pytest.mark.integration


async def test_an_admission_and_an_eviction_arrive(team: Team, told: Told) -> None:
    await team.ready()
    await a_replica_set(team, "web", 2)
    await until_running(team, "web", 2)
    admitted = await told.event("workload.admitted")
    data = admitted["data"]
    assert (data["workload"]["kind"], data["workload"]["name"]) == ("ReplicaSet", "web")
    assert (data["clusterQueue"], data["flavors"]) == (team.full("cq"), [team.full("spot")])
    assert set(data["pods"]["names"]) <= set(await team.all())
    assert admitted["subject"] == f"namespaces/{team.namespace}/replicaset/web"

    await team.change("clusterqueues", team.full("cq"), {"stopPolicy": "HoldAndDrain"})
    # on a slow machine they go one after the other
    evicted = await told.event("workload.evicted", most=2)
    assert (evicted["data"]["cause"], evicted["data"]["flavor"]) == ("Drained", team.full("spot"))
    where = f"replicaset/web in namespace {team.namespace}"
    await told.line(f"Admitted: {where}, onto flavor {team.full('spot')}")
    await told.line(f"Evicted: {where}, Drained: ClusterQueue {team.full('cq')} has stopPolicy HoldAndDrain")


async def test_a_budget_that_is_used_arrives(team: Team, told: Told) -> None:
    budget = {"name": "burst", "resource": "cpu", "hours": "3m", "period": "Month", "atEnd": "Warn"}
    await team.ready(budgets=[budget])
    await team.pod("one", "4")
    await team.until_bound("one")

    def crossed() -> list[int]:
        found = [one["data"] for one in told.server.on("/hook") if one["type"] == "dev.penstock.budget.used.v1"]
        assert {one["clusterQueue"] for one in found} == {team.full("cq")}
        assert [one["percent"] for one in found] == [50, 100]
        return [one["percent"] for one in found]

    assert await eventually(crossed, seconds=60)
    await told.line(f"Budget burst of ClusterQueue {team.full('cq')} is used to 100 %: ")


@pytest.mark.more
async def test_who_waits_longer_than_the_forecast_said_is_late(team: Team, told: Told) -> None:
    await team.ready({"spot": {"cpu": 1}})
    await team.pod("runs", annotations={EXPECTED_RUNTIME: "40s"})
    await team.until_bound("runs")
    await team.pod("waits")
    late = await told.event("workload.late", seconds=180)
    data = late["data"]
    assert (data["workload"]["name"], data["reason"]) == ("waits", "QuotaExceeded")
    assert data["waitingSince"] <= data["forecast"]["p20"] <= data["forecast"]["p90"] <= late["time"]
    await told.line(f"Late: pod/waits in namespace {team.namespace}, it was expected to start by ")


async def test_a_controller_that_was_killed_repeats_with_the_same_id(
    notified: Notified, team: Team, told: Told
) -> None:
    controller = notified.cluster.programs.controller
    await team.ready()
    await team.pod("first")
    await team.until_bound("first")
    await told.event("workload.admitted")
    await told.line(f"Admitted: pod/first in namespace {team.namespace}")
    await crash(controller, team.client)
    await asyncio.to_thread(controller.process.wait)
    controller.start()
    await controller.wait_ready()
    await eventually(lambda: len(told.server.on("/hook")) >= 2, seconds=60)
    await told.event("workload.admitted")
    assert len(told.lines) == 1, "a chat cannot tell a repeat from a new message"
