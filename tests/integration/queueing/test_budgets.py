"""Budgets on a real control plane: used up by pods that run, kept over a restart, and open again by themselves."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import orjson
import pytest

from controller.kube.client import Client
from tests.support.clusters import Cluster
from tests.support.eventually import eventually
from tests.support.leaders import crash
from tests.support.team import TEAM_LABEL, Team, is_gated

pytestmark = pytest.mark.integration


async def until_budget(team: Team, *, exhausted: bool, seconds: float = 30) -> dict[str, Any]:
    """Wait until the status says whether the budget is used up; return what it says of it."""

    async def said() -> dict[str, Any]:
        (budget,) = (await team.status("clusterqueues", team.full("cq")))["budgets"]
        assert budget["exhausted"] is exhausted, budget
        return dict(budget)

    return await eventually(said, seconds=seconds, message="the budget does not say so")


@pytest.fixture
async def restarted(cluster: Cluster, client: Client) -> AsyncIterator[Any]:
    """Ends the controller without a warning and starts it again."""

    async def restart() -> None:
        await crash(cluster.programs.controller, client)
        cluster.programs.controller.start()
        await cluster.programs.controller.wait_ready()

    yield restart
    if cluster.programs.controller.exit_code is not None:
        cluster.programs.controller.start()
        await cluster.programs.controller.wait_ready()


async def test_a_budget_ends_outlives_a_restart_and_opens_again(team: Team, restarted: Any) -> None:
    # 10.8 seconds of a core in any 80; a restart takes half of that on a busy machine
    budget = {"name": "burst", "resource": "cpu", "hours": "3m", "period": "Sliding", "window": "80s"}
    await team.ready({"spot": {"cpu": 8}}, budgets=[budget])
    await team.pod("first", "4")
    await team.until_bound("first")
    used_up = await until_budget(team, exhausted=True)
    assert (used_up["amount"], float(used_up["used"]) >= 0.003) == ("0.003", True)
    await team.pod("second", "100m")
    sentence = await team.until_waiting("second", "BudgetExhausted")
    assert f"budget burst of ClusterQueue {team.full('cq')}, 0.003 hours of cpu in any 1m20s, is used up" in sentence
    # nobody who comes later can learn from a pod what it used
    await team.delete("first")
    await restarted()
    await team.pod("third", "100m")
    await team.visited()
    assert is_gated(await team.get("second"))
    assert is_gated(await team.get("third"))
    await team.until_waiting("third", "BudgetExhausted")

    pods = await team.until_bound("second", "third", seconds=120)
    assert not any(is_gated(pod) for pod in pods.values())
    await until_budget(team, exhausted=False)


async def test_money_is_counted_and_a_budget_may_only_warn(team: Team, client: Client) -> None:
    await team.nodes("spot", cpu="8", memory="32Gi")
    await team.flavor("spot", nodeLabels={TEAM_LABEL: team.id, "shape": "spot"}, price={"cpu": "3600"})
    budget = {"name": "money", "cost": "2.5", "period": "Month", "timeZone": "Asia/Kolkata", "atEnd": "Warn"}
    queue = await team.cluster_queue({"spot": {"cpu": 8}}, budgets=[budget])
    await team.local_queue()
    await team.pod("one", "1")
    await team.until_bound("one")
    await until_budget(team, exhausted=True)
    await team.pod("two", "1")
    await team.until_bound("two")
    conditions = {c["type"]: c for c in (await team.status("clusterqueues", queue))["conditions"]}
    assert (conditions["Active"]["status"], conditions["BudgetWarning"]["status"]) == ("True", "True")

    async def told() -> bool:
        items = orjson.loads(await client.get("/api/v1/namespaces/default/events"))["items"]
        mine = [one for one in items if one["involvedObject"].get("name") == queue]
        assert [(one["reason"], one["type"]) for one in mine] == [("BudgetExhausted", "Warning")]
        return bool(conditions["BudgetWarning"]["message"] == mine[0]["message"])

    await eventually(told, message="no Event tells of the end of the budget")
