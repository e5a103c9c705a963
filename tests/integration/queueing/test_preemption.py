"""Preemption on a real control plane: whom a workload evicts, what that pod says, and its second admission."""

from __future__ import annotations

import orjson
import pytest

from controller.core.keys import EVICTION, GANG, PREEMPTIONS, PRIORITY_CLASS
from controller.kube.client import MERGE_PATCH
from tests.support.eventually import eventually
from tests.support.team import Json, Team, flavor_of, is_gated
from tests.support.team_owners import IGNORES, a_job, a_replica_set, pods_of, template, until_running

pytestmark = pytest.mark.integration


async def high(team: Team) -> dict[str, str]:
    """Make a WorkloadPriorityClass; return the label that names it."""
    await team.make("workloadpriorityclasses", "WorkloadPriorityClass", team.full("high"), {"value": 1000})
    return {PRIORITY_CLASS: team.full("high")}


async def marked(team: Team, app: str) -> list[Json]:
    """The pods of an app that carry our eviction condition, as long as they are there."""
    return [
        {**condition, "pod": pod["metadata"]["name"]}
        for pod in await pods_of(team, app)
        for condition in pod["status"].get("conditions", ())
        if condition["type"] == EVICTION
    ]


async def running_and_waiting(team: Team, app: str) -> tuple[int, int]:
    pods = await pods_of(team, app)
    return sum(pod["status"]["phase"] == "Running" for pod in pods), sum(map(is_gated, pods))


async def test_a_pod_of_a_job_is_preempted_and_admitted_a_second_time(team: Team) -> None:
    await team.ready({"spot": {"cpu": 2}}, preemption={"withinClusterQueue": "LowerPriority"})
    await a_job(team, "train", podFailurePolicy=IGNORES, parallelism=2, completions=2)
    await until_running(team, "train", 2)
    before = {pod["metadata"]["uid"] for pod in await pods_of(team, "train")}
    await team.pod("urgent", labels=await high(team))
    pods = await team.until_bound("urgent")
    assert pods["urgent"]["metadata"]["annotations"][PREEMPTIONS] == "1"
    assert not any(PREEMPTIONS in pod["metadata"]["annotations"] for pod in await pods_of(team, "train"))

    async def one_waits() -> bool:
        assert await running_and_waiting(team, "train") == (1, 1)
        return True

    await eventually(one_waits, seconds=40, message="the Job did not make the preempted pod anew")
    after = {pod["metadata"]["uid"] for pod in await pods_of(team, "train")}
    assert len(before & after) == 1
    await team.end("urgent")
    await until_running(team, "train", 2)

    async def all_counted() -> bool:
        status = await team.status("clusterqueues", team.full("cq"))
        assert (status["pending"], status["reserved"] + status["running"]) == (0, 2)
        return True

    await eventually(all_counted, message="the queue's status does not count the pods there are")


async def test_a_queue_preempts_in_its_first_flavor(team: Team) -> None:
    quotas = {"spot": {"cpu": 1}, "dear": {"cpu": 1}}
    first = {"flavorFungibility": {"whenCanPreempt": "MayStopSearch"}}
    await team.ready(quotas, preemption={"withinClusterQueue": "LowerPriority"}, **first)
    await a_replica_set(team, "web", 1)
    await until_running(team, "web", 1)
    (before,) = await pods_of(team, "web")
    assert flavor_of(before) == team.full("spot")
    await team.pod("urgent", labels=await high(team))
    pods = await team.until_bound("urgent")
    assert flavor_of(pods["urgent"]) == team.full("spot")

    async def came_again() -> bool:
        pods = await pods_of(team, "web")
        assert [flavor_of(pod) for pod in pods] == [team.full("dear")]
        return bool(pods[0]["metadata"]["uid"] != before["metadata"]["uid"])

    await eventually(came_again, seconds=40)


async def test_a_queue_reclaims_and_a_disruption_budget_holds(team: Team) -> None:
    await team.nodes("spot", cpu="8", memory="32Gi")
    await team.flavor("spot")
    await team.make("clusterqueues", "ClusterQueue", team.full("org"), {})
    for name in ("mine", "theirs"):
        preemption = {"reclaimWithinCohort": "Any"} if name == "mine" else {}
        await team.cluster_queue({"spot": {"cpu": 1}}, name, parent=team.full("org"), preemption=preemption)
    await team.local_queue("main", "theirs")
    await team.local_queue("mine", "mine")
    await a_replica_set(team, "web", 2)
    await until_running(team, "web", 2)
    budgets = f"/apis/policy/v1/namespaces/{team.namespace}/poddisruptionbudgets"
    spec = {"minAvailable": 2, "selector": {"matchLabels": {"app": "web"}}}
    await team.client.post(budgets, {"metadata": {"name": "web"}, "spec": spec})

    async def guards() -> bool:
        return await team.exists(f"{budgets}/web")

    await eventually(guards)
    await team.pod("first", queue="mine")

    async def refused() -> list[Json]:
        return [one for one in await marked(team, "web") if one["status"] == "False"]

    told = await eventually(refused, seconds=40, message="the refused eviction is not told")
    assert (
        f"for a workload of ClusterQueue {team.full('mine')}, from what {team.full('theirs')} borrowed"
        in told[0]["message"]
    )
    assert is_gated(await team.get("first"))
    await team.client.delete(f"{budgets}/web")
    await team.until_bound("first", seconds=60)
    assert (await running_and_waiting(team, "web"))[0] == 1


async def until_allowed(team: Team, guard: str, count: int) -> None:
    """Wait until a budget is counted as it is now, with three pods ready, and lets so many go."""

    async def allowed() -> bool:
        found = orjson.loads(await team.client.get(guard))
        status = found.get("status") or {}
        assert status.get("observedGeneration") == found["metadata"]["generation"], status
        assert (status.get("currentHealthy"), status.get("disruptionsAllowed")) == (3, count), status
        return True

    await eventually(allowed, message="the budget is not counted")


async def until_all_stay(team: Team, before: set[str], text: str) -> None:
    """Wait until all three of the gang say that they are not evicted, and why; then none of them has gone."""

    async def said() -> bool:
        told = await marked(team, "train")
        assert len(told) == 3, told
        assert all(one["status"] == "False" and text in one["message"] for one in told), told
        return True

    await eventually(said, seconds=60, message=f"the gang does not say {text!r}")
    pods = await pods_of(team, "train")
    assert {pod["metadata"]["uid"] for pod in pods} == before
    assert not any(pod["metadata"].get("deletionTimestamp") for pod in pods)
    assert is_gated(await team.get("urgent"))


async def until_all_are_gone(team: Team, before: set[str]) -> None:
    # the Job makes them anew much later: it pauses the longer, the more of its pods it lost
    async def all_gone() -> bool:
        return not before & {pod["metadata"]["uid"] for pod in await pods_of(team, "train")}

    await eventually(all_gone, message="the gang was not evicted as a whole")


async def test_a_gang_stays_whole_under_a_tight_disruption_budget(team: Team) -> None:
    await team.ready({"spot": {"cpu": 3}}, preemption={"withinClusterQueue": "LowerPriority"})
    member = template("train", "Never")
    member["metadata"]["annotations"][GANG] = "true"
    await a_job(team, "train", podFailurePolicy=IGNORES, parallelism=3, completions=3, template=member)
    await until_running(team, "train", 3)
    before = {pod["metadata"]["uid"] for pod in await pods_of(team, "train")}
    budgets = f"/apis/policy/v1/namespaces/{team.namespace}/poddisruptionbudgets"
    guard, selector = f"{budgets}/guard", {"matchLabels": {"app": "train"}}
    await team.client.post(budgets, {"metadata": {"name": "guard"}, "spec": {"minAvailable": 3, "selector": selector}})
    await until_allowed(team, guard, 0)
    await team.pod("urgent", labels=await high(team))
    await until_all_stay(team, before, "Cannot evict pod as it would violate the pod's disruption budget")
    await team.client.patch(guard, {"spec": {"minAvailable": 1}}, content_type=MERGE_PATCH)
    await until_allowed(team, guard, 2)
    text = "PodDisruptionBudget guard lets 2 more go now, and of this gang, which goes as a whole, 3 have to"
    await until_all_stay(team, before, text)
    await team.client.patch(guard, {"spec": {"minAvailable": 0}}, content_type=MERGE_PATCH)
    await team.until_bound("urgent", seconds=90)
    await until_all_are_gone(team, before)
