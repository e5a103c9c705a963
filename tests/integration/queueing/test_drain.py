"""A queue that is drained, on a real control plane: who is evicted, who stays, and what the owners make of it."""

from __future__ import annotations

import orjson
import pytest

from controller.core.keys import EVICTION
from tests.support.eventually import eventually
from tests.support.team import Team
from tests.support.team_owners import (
    IGNORES,
    a_job,
    a_replica_set,
    evictions_told,
    pods_of,
    until_made_anew,
    until_running,
)

pytestmark = pytest.mark.integration


async def until_drained(team: Team, reason: str) -> str:
    async def said() -> str:
        status = await team.status("clusterqueues", team.full("cq"))
        found = {c["type"]: c for c in status["conditions"]}.get("Drained")
        assert found is not None
        assert found["reason"] == reason, found
        return str(found["message"])

    return await eventually(said, message=f"the condition Drained does not become {reason}")


async def uids(team: Team, app: str) -> set[str]:
    return {pod["metadata"]["uid"] for pod in await pods_of(team, app)}


async def test_a_drained_queue_returns_pods_and_takes_them_back(team: Team) -> None:
    await team.ready()
    await a_replica_set(team, "web", 2)
    ignoring = await a_job(team, "ignoring", podFailurePolicy=IGNORES)
    counting = await a_job(team, "counting")
    await team.pod("bare", labels={"app": "bare"})
    for app, count in (("web", 2), ("ignoring", 1), ("counting", 1), ("bare", 1)):
        await until_running(team, app, count)
    before = {app: await uids(team, app) for app in ("web", "ignoring", "counting")}

    await team.change("clusterqueues", team.full("cq"), {"stopPolicy": "HoldAndDrain"})
    for app in ("web", "ignoring"):
        await until_made_anew(team, app, before[app])
    said = await until_drained(team, "PodsStay")
    assert "2 stay (1: its Job would count it as failed" in said
    assert "1: no owner would recreate it (allowBarePods is not set))" in said
    assert await uids(team, "counting") == before["counting"]
    job = orjson.loads(await team.client.get(ignoring))
    assert not job["status"].get("failed"), job["status"]
    assert not [c for c in job["status"].get("conditions", ()) if c["type"] in ("Failed", "FailureTarget")]
    by = f"Drained: ClusterQueue {team.full('cq')} has stopPolicy HoldAndDrain"
    expected = {
        f"{by}; its ReplicaSet makes another",
        f"{by}; its Job makes another and does not count it as failed",
    }

    async def told() -> bool:
        assert await evictions_told(team) == expected
        return True

    await eventually(told, message="not every eviction has its Event")

    await team.change("clusterqueues", team.full("cq"), {"stopPolicy": "None"})
    for app, count in (("web", 2), ("ignoring", 1), ("counting", 1)):
        await until_running(team, app, count)
    assert not orjson.loads(await team.client.get(counting))["status"].get("failed")


async def test_a_pod_disruption_budget_holds_and_the_pod_says_so(team: Team) -> None:
    await team.ready()
    budgets = f"/apis/policy/v1/namespaces/{team.namespace}/poddisruptionbudgets"
    spec = {"maxUnavailable": 0, "selector": {"matchLabels": {"app": "web"}}}
    await team.client.post(budgets, {"metadata": {"name": "none"}, "spec": spec})
    await a_replica_set(team, "web")
    await until_running(team, "web")
    before = await uids(team, "web")
    await team.change("localqueues", "main", {"stopPolicy": "HoldAndDrain"})

    async def refused() -> str:
        (pod,) = await pods_of(team, "web")
        found = {c["type"]: c for c in pod["status"]["conditions"]}[EVICTION]
        assert (found["status"], found["reason"]) == ("False", "EvictionRefused"), found
        return str(found["message"])

    said = await eventually(refused, message="the pod does not say that its eviction is refused")
    assert said.startswith("LocalQueue main has stopPolicy HoldAndDrain; its ReplicaSet makes another; refused for now")
    assert "disruption budget" in said
    assert await uids(team, "web") == before

    await team.client.delete(f"{budgets}/none")
    await until_made_anew(team, "web", before)
