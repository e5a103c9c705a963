"""Alerts fire from the faults that they are for, on a real control plane, told by the metrics of the programs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import orjson
import pytest

from controller.kube.client import JSON_PATCH
from tests.integration.monitoring.scraped import Samples, over_time, scrape
from tests.support import promtool
from tests.support.clusters import Cluster
from tests.support.eventually import eventually
from tests.support.refusing import releases_refused
from tests.support.team import TEAM_LABEL, Team
from tests.support.team_owners import a_replica_set, until_running

pytestmark = [pytest.mark.integration, pytest.mark.more]

AT, LATER = "28m", "35m"
"""When alerts are looked at; the fault begins at 16m."""


async def a_queue_that_names_no_flavor(team: Team) -> None:
    quota = [{"name": team.full("nothing"), "resources": [{"name": "cpu", "nominalQuota": 1}]}]
    spec = {"namespaceSelector": {}, "flavors": quota}
    await team.make("clusterqueues", "ClusterQueue", team.full("cq"), spec)
    await team.local_queue()
    await team.pod("waits")
    await team.until_waiting("waits", "QueueInvalid")


async def a_pod_of_no_queue(team: Team) -> None:
    await team.pod("waits", queue="nobodys")
    await team.until_waiting("waits", "QueueNotFound")


async def a_quota_that_shrinks(team: Team) -> None:
    await team.ready({"spot": {"cpu": 2}})
    await team.pods(2)
    await team.until_bound("pod-0", "pod-1")
    less = [{"op": "replace", "path": "/spec/flavors/0/resources/0/nominalQuota", "value": 1}]
    path = f"/apis/penstock.dev/v1alpha1/clusterqueues/{team.full('cq')}"
    await team.client.patch(path, less, content_type=JSON_PATCH)

    async def is_said() -> bool:
        conditions = (await team.status("clusterqueues", team.full("cq"))).get("conditions", ())
        return any(one["type"] == "OverQuota" for one in conditions)

    await eventually(is_said, message="the queue does not say that it uses too much")


async def a_policy_that_refuses_releases(team: Team) -> None:
    async with releases_refused(team, "refuses"):
        await team.ready(stopPolicy="Hold")
        await team.pods(1)
        await team.until_waiting("pod-0", "QueueStopped")
        await team.change("clusterqueues", team.full("cq"), {"stopPolicy": "None"})
        await team.until_waiting("pod-0", "PatchRejected")


async def a_budget_that_allows_no_eviction(team: Team) -> None:
    await team.nodes("spot", cpu="8", memory="32Gi")
    await team.flavor("spot")
    preemption = {"withinClusterQueue": "LowerPriority"}
    await team.cluster_queue({"spot": {"cpu": 1}}, preemption=preemption)
    await team.local_queue()
    await a_replica_set(team, "guarded")
    await until_running(team, "guarded")
    budgets = f"/apis/policy/v1/namespaces/{team.namespace}/poddisruptionbudgets"
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "guarded"}}}
    await team.client.post(budgets, {"metadata": {"name": "guarded"}, "spec": spec})

    async def guards() -> bool:
        status = orjson.loads(await team.client.get(f"{budgets}/guarded")).get("status", {})
        return bool(status.get("observedGeneration")) and status.get("disruptionsAllowed") == 0

    await eventually(guards, message="the budget is not counted")
    await team.pod("urgent", spec={"priorityClassName": "system-cluster-critical"})


async def a_flavor_whose_nodes_do_not_come(team: Team) -> None:
    capacity = {"mode": "Autoscaled", "max": {"cpu": 64}, "provisionTimeout": "5s", "coolDown": "1h"}
    await team.flavor("spot", nodeLabels={TEAM_LABEL: team.id, "shape": "spot"}, capacity=capacity)
    await team.cluster_queue({"spot": {"cpu": 8}})
    await team.local_queue()
    await team.pod("first")

    async def is_dry() -> bool:
        status = await team.status("resourceflavors", team.full("spot"))
        return any((one["type"], one["status"]) == ("Dry", "True") for one in status["conditions"])

    await eventually(is_dry, seconds=60, message="the flavor does not say that it is dry")
    await team.pod("later")
    await team.until_waiting("later", "FlavorDry")


async def a_node_that_dies_with_a_deleted_pod(team: Team) -> None:
    await team.flavor("spot")
    await team.cluster_queue({"spot": {"cpu": 2}})
    await team.local_queue()
    # nobody plays its kubelet: it counts as dead after less than a minute
    size = {"cpu": "8", "memory": "32Gi", "pods": "10"}
    status = {"capacity": size, "allocatable": size, "conditions": [{"type": "Ready", "status": "True"}]}
    labels = {TEAM_LABEL: team.id, "shape": "spot"}
    await team.client.post("/api/v1/nodes", {"metadata": {"name": team.id, "labels": labels}, "status": status})
    await team.pod("lost")
    await team.until_bound("lost")
    await team.client.delete(f"{team.pods_path}/lost", {"gracePeriodSeconds": 1})


FAULTS: dict[str, Callable[[Team], Awaitable[None]]] = {
    "PenstockQueueInvalid": a_queue_that_names_no_flavor,
    "PenstockQueueNotFound": a_pod_of_no_queue,
    "PenstockOverQuota": a_quota_that_shrinks,
    "PenstockReleasesRejected": a_policy_that_refuses_releases,
    "PenstockEvictionsRefused": a_budget_that_allows_no_eviction,
    "PenstockFlavorDry": a_flavor_whose_nodes_do_not_come,
    "PenstockLostPods": a_node_that_dies_with_a_deleted_pod,
}


async def at_rest(cluster: Cluster) -> Samples:
    """Metrics of a time when no alert fires: what tests before left behind is gone."""

    async def quiet() -> Samples:
        found = await scrape(cluster)
        assert promtool.firing(over_time(found, found), AT) == set()
        return found

    return await eventually(quiet, seconds=90, message="alerts fire before anything is wrong")


@pytest.mark.timeout(400)
@pytest.mark.parametrize("alert", FAULTS)
async def test_an_alert_fires_from_its_fault(cluster: Cluster, team: Team, alert: str) -> None:
    before = await at_rest(cluster)
    await FAULTS[alert](team)
    at = LATER if promtool.alerts()[alert].get("for") == "15m" else AT

    async def fires() -> bool:
        series = over_time(before, await scrape(cluster), goes_on=alert == "PenstockEvictionsRefused")
        found = await asyncio.to_thread(promtool.firing, series, at)
        assert found == {alert}, found
        return True

    await eventually(fires, seconds=200, message=f"{alert} does not fire alone")


async def test_an_alert_fires_where_no_controller_runs(cluster: Cluster) -> None:
    before = await at_rest(cluster)
    controller = cluster.programs.controller
    assert await controller.stop() == 0
    try:
        assert promtool.firing(over_time(before, await scrape(cluster), deciding=False), AT) == {"PenstockNoLeader"}
    finally:
        controller.start()
        await controller.wait_ready()
