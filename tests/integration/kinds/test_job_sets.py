"""JobSets, whose controller makes Jobs: held, admitted by one patch, preempted as a whole, and admitted again."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator

import pytest

from controller.core.keys import (
    ADMITTED_JOB,
    CLUSTER_QUEUE,
    FLAVOR,
    ORIGINAL_TEMPLATE,
    PRIORITY_CLASS,
    QUEUE_NAME,
    REQUIRED_TOPOLOGY,
)
from controller.kube.client import MERGE_PATCH, Client
from tests.integration.kinds.job_sets import EDITOR, SET, JobSetController, JobSets, a_job_set, a_replicated_job
from tests.integration.kinds.rig import at_work
from tests.support.eventually import eventually
from tests.support.impersonation import Impersonation
from tests.support.team import Json, Team

pytestmark = pytest.mark.integration

DRIVER = a_replicated_job("driver")
WORKERS = a_replicated_job("workers", "1", replicas=2, pods=2, nodeSelector={"shape": "gpu"})


@pytest.fixture
async def job_sets(team: Team, client: Client, apiserver: Impersonation) -> AsyncIterator[JobSets]:
    """JobSets of the team's namespace, with their controller at work."""
    sets = JobSets(team)
    async with at_work(JobSetController(client, apiserver, sets).run()):
        yield sets


async def used(team: Team) -> dict[str, str]:
    """What the queue is charged of cpu, by flavor."""
    status = await team.status("clusterqueues", team.full("cq"))
    return {one["name"]: str(one["resources"][0]["total"]) for one in status.get("flavorsUsage", ())}


async def test_a_set_waits_with_suspended_jobs_and_no_pods(job_sets: JobSets) -> None:
    await job_sets.team.ready({"cpu": {"cpu": 4}, "gpu": {"cpu": 3}})
    made = await job_sets.make("large", DRIVER, WORKERS)
    assert made["spec"]["suspend"] is True
    await job_sets.until_waiting("large", "NeverFits", jobs=3)


async def test_its_jobs_get_pods_in_two_flavors(job_sets: JobSets) -> None:
    team = job_sets.team
    await team.ready({"cpu": {"cpu": 4}, "gpu": {"cpu": 6}})
    await job_sets.make("small", DRIVER, WORKERS)
    pods = await job_sets.until_runs("small", 5)
    found = await job_sets.get("small")
    assert found["metadata"]["generation"] == 2  # one patch of its spec
    assert found["metadata"]["labels"][CLUSTER_QUEUE] == team.full("cq")
    sets = Counter((pod["metadata"]["labels"][SET], pod["metadata"]["labels"][FLAVOR]) for pod in pods)
    assert sets == {("driver", team.full("cpu")): 1, ("workers", team.full("gpu")): 4}
    uid = found["metadata"]["uid"]
    assert {pod["metadata"]["annotations"][ADMITTED_JOB] for pod in pods} == {f"{uid}/driver", f"{uid}/workers"}
    assert all("schedulingGates" not in pod["spec"] for pod in pods)

    async def is_charged() -> bool:
        assert await used(team) == {team.full("cpu"): "1", team.full("gpu"): "4"}
        return True

    await eventually(is_charged, message="the queue is not charged for five pods")


async def test_a_preempted_set_is_put_back_and_admitted_again(job_sets: JobSets) -> None:
    team = job_sets.team
    await team.ready({"cpu": {"cpu": 4}, "gpu": {"cpu": 6}}, preemption={"withinClusterQueue": "LowerPriority"})
    await team.make("workloadpriorityclasses", "WorkloadPriorityClass", team.full("high"), {"value": 1000})
    before = await job_sets.make("low", DRIVER, WORKERS)
    await job_sets.until_runs("low", 5)
    high = {QUEUE_NAME: "main", PRIORITY_CLASS: team.full("high")}
    await job_sets.make("urgent", DRIVER, WORKERS, labels=high)
    await job_sets.until_runs("urgent", 5)
    await job_sets.until_waiting("low", "QuotaExceeded", jobs=3)

    async def is_as_written() -> bool:
        low = await job_sets.get("low")
        assert low["spec"] == before["spec"]
        assert ORIGINAL_TEMPLATE not in low["metadata"]["annotations"]
        assert low["metadata"]["generation"] == 4  # released, suspended once, put back
        return True

    await eventually(is_as_written, message="the JobSet is not as its user wrote it")
    await team.client.delete(f"{job_sets.path}/urgent")
    await job_sets.until_runs("low", 5)
    assert (await job_sets.get("low"))["metadata"]["generation"] == 5


async def test_a_required_rack_is_in_the_node_selectors(job_sets: JobSets) -> None:
    team = job_sets.team
    await team.nodes("cpu", 2, cpu="2", labels={"rack": "small"})
    await team.nodes("wide", 2, cpu="4", labels={"rack": "large", "shape": "cpu"})
    await team.flavor("cpu")
    await team.cluster_queue({"cpu": {"cpu": 8}})
    await team.local_queue()
    workers = a_replicated_job("workers", "2", pods=3)
    await job_sets.make("close", DRIVER, workers, annotations={REQUIRED_TOPOLOGY: "rack"})
    pods = await job_sets.until_runs("close", 4)
    assert [pod["spec"]["nodeSelector"]["rack"] for pod in pods] == ["large"] * 4
    assert all("affinity" not in pod["spec"] for pod in pods)


async def test_users_do_not_get_more_pods_from_its_jobs(job_sets: JobSets, apiserver: Impersonation) -> None:
    await job_sets.team.ready({"cpu": {"cpu": 4}})
    await job_sets.make("mine", a_replicated_job("workers", pods=2))
    await job_sets.until_runs("mine", 2)
    dry, path = {"dryRun": "All"}, f"{job_sets.jobs_path}/mine-workers-0"
    more = {"spec": {"parallelism": 3, "completions": 3}}
    reply = await apiserver.send(EDITOR, "PATCH", path, more, content_type=MERGE_PATCH, params=dry)
    assert (reply.code, "no-growth: " in reply.body["message"]) == (403, True)
    (job,) = await job_sets.jobs_of("mine")
    kept = {key: job["metadata"][key] for key in ("labels", "ownerReferences")}
    forged = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "forged", **kept},
        "spec": {
            "template": {
                "metadata": {"annotations": job["spec"]["template"]["metadata"]["annotations"]},
                "spec": a_replicated_job("a")["template"]["spec"]["template"]["spec"],
            }
        },
    }
    reply = await apiserver.send(EDITOR, "POST", job_sets.jobs_path, forged, params=dry)
    assert ADMITTED_JOB not in reply.body["spec"]["template"]["metadata"].get("annotations", {})


def labelled_job(name: str) -> Json:
    job = a_replicated_job(name)
    job["template"]["metadata"] = {"labels": {QUEUE_NAME: "main"}}
    return job


def wasteful_job(name: str) -> Json:
    job = a_replicated_job(name)
    job["template"]["spec"]["parallelism"] = 2
    return job


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (a_job_set("odd", labelled_job("a")), "remove the label"),
        (a_job_set("odd", wasteful_job("a")), "write a lower parallelism"),
        (a_job_set("odd", DRIVER, annotations={"penstock.dev/preferred-topology": "rack"}), "required-topology"),
    ],
)
async def test_what_cannot_be_held_is_refused(
    job_sets: JobSets, apiserver: Impersonation, body: Json, told: str
) -> None:
    reply = await apiserver.send(EDITOR, "POST", job_sets.path, body, params={"dryRun": "All"})
    assert (reply.code, told in reply.body["message"]) == (403, True), reply.body
