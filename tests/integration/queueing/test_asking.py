"""What `penstock` says of queues and waits in a real cluster, and that doing what it says helps."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from controller.core.keys import PRIORITY_CLASS
from tests.support.clusters import Cluster
from tests.support.command import penstock
from tests.support.eventually import eventually
from tests.support.team import Team
from tests.support.team_owners import a_replica_set, pods_of, until_running

pytestmark = pytest.mark.integration


async def answered(cluster: Cluster, *arguments: str) -> Any:
    done = await penstock(cluster.sandbox, *arguments, "-o", "json")
    assert (done.code, done.errors) == (0, "")
    return orjson.loads(done.output)


async def test_the_quota_that_an_explanation_names_admits_the_pod(team: Team, cluster: Cluster) -> None:
    await team.ready({"spot": {"cpu": 4}})
    await team.pod("running", "3")
    await team.until_bound("running")
    await team.pod("next", "2")
    said = await team.until_waiting("next", "QuotaExceeded")
    told = await answered(cluster, "explain", "pod/next", "-n", team.namespace)
    flavor = f"flavor {team.full('spot')}: needs 2 cpu"
    assert (told["reason"], told["message"]) == ("QuotaExceeded", f"{flavor}, 1 of its quota is free")
    assert said == f"{flavor}, more than is free of its quota"
    (held,) = told["holders"]
    assert [one["name"] for one in held["workloads"]] == [f"{team.namespace}/running"]
    changes = [one["change"] for one in told["remedies"] if one["admits"]]
    assert changes == [
        f"when {team.namespace}/running ends",
        f"1 cpu more of flavor {team.full('spot')} for ClusterQueue {team.full('cq')}",
    ]
    raised = {"name": team.full("spot"), "resources": [{"name": "cpu", "nominalQuota": 5}]}
    await team.change("clusterqueues", team.full("cq"), {"flavors": [raised]})
    await team.until_bound("next")


async def test_queues_and_pods_are_shown_as_they_are(team: Team, cluster: Cluster) -> None:
    await team.ready({"spot": {"cpu": 2}})
    await team.pods(3, "1")
    await team.pod("chosen", "1", labels={"app": "web"})
    (chosen,) = await answered(cluster, "pods", "-n", team.namespace, "-l", "app=web")
    assert chosen["name"] == "chosen"
    await team.delete("chosen")
    pods = await answered(cluster, "pods", "-n", team.namespace)
    assert {one["localQueue"] for one in pods} == {"main"}
    assert len(pods) == 3
    queues = {one["name"]: one for one in await answered(cluster, "queues")}
    (flavor,) = queues[team.full("cq")]["flavors"]
    assert (flavor["name"], flavor["resources"][0]["quota"]) == (team.full("spot"), "2")
    assert [one["name"] for one in await answered(cluster, "queues", "--local", "-n", team.namespace)] == ["main"]


async def test_who_was_evicted_is_told_for_whom_and_by_which_rule(team: Team, cluster: Cluster) -> None:
    await team.ready({"spot": {"cpu": 1}}, preemption={"withinClusterQueue": "LowerPriority"})
    high = team.full("high")
    await team.make("workloadpriorityclasses", "WorkloadPriorityClass", high, {"value": 1000})
    await a_replica_set(team, "low")
    await until_running(team, "low")
    (gone,) = [one["metadata"]["name"] for one in await pods_of(team, "low")]
    await team.pod("urgent", "1", labels={PRIORITY_CLASS: high})
    await team.until_bound("urgent")

    async def told() -> Any:
        document = await answered(cluster, "explain", "replicaset/low", "-n", team.namespace)
        assert document["evicted"], document
        return document

    document = await eventually(told, message="no eviction is told")
    (evicted,) = document["evicted"]
    assert evicted["pod"] == gone
    assert evicted["message"].startswith("Preempted: for a workload of priority 1000 in its ClusterQueue")
    assert document["reason"] == "QuotaExceeded", "the pod that was made again waits"
    alone = await answered(cluster, "explain", f"pod/{gone}", "-n", team.namespace)
    assert (alone["message"], [one["pod"] for one in alone["evicted"]]) == (f"pod/{gone} is gone", [gone])
