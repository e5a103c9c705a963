"""Alerts fire from the faults that they are for, on a real control plane, told by the metrics of the programs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from controller.kube.client import JSON_PATCH
from tests.integration.monitoring.scraped import Samples, over_time, scrape
from tests.support import promtool
from tests.support.clusters import Cluster
from tests.support.eventually import eventually
from tests.support.refusing import releases_refused
from tests.support.team import Team

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


FAULTS: dict[str, Callable[[Team], Awaitable[None]]] = {
    "PenstockQueueInvalid": a_queue_that_names_no_flavor,
    "PenstockQueueNotFound": a_pod_of_no_queue,
    "PenstockOverQuota": a_quota_that_shrinks,
    "PenstockReleasesRejected": a_policy_that_refuses_releases,
}


async def at_rest(cluster: Cluster) -> Samples:
    """Metrics of a time when no alert fires: what tests before left behind is gone."""

    async def quiet() -> Samples:
        found = await scrape(cluster)
        assert promtool.firing(over_time(found, found), AT) == set()
        return found

    return await eventually(quiet, seconds=90, message="alerts fire before anything is wrong")


@pytest.mark.parametrize("alert", FAULTS)
async def test_an_alert_fires_from_its_fault(cluster: Cluster, team: Team, alert: str) -> None:
    before = await at_rest(cluster)
    await FAULTS[alert](team)
    series = over_time(before, await scrape(cluster))
    assert promtool.firing(series, LATER if alert == "PenstockOverQuota" else AT) == {alert}


async def test_an_alert_fires_where_no_controller_runs(cluster: Cluster) -> None:
    before = await at_rest(cluster)
    controller = cluster.programs.controller
    assert await controller.stop() == 0
    try:
        assert promtool.firing(over_time(before, await scrape(cluster), deciding=False), AT) == {"PenstockNoLeader"}
    finally:
        controller.start()
        await controller.wait_ready()
