"""Admitted Jobs that get more pods: as a wish of their users, or since they were admitted with fewer than they want."""

from __future__ import annotations

import asyncio

import pytest

from controller.core.keys import MIN_PARALLELISM, PRIORITY_CLASS, QUEUE_NAME, WANTED_PARALLELISM
from tests.integration.jobs.held import HeldJobs, condition_of
from tests.support.clusters import Cluster
from tests.support.eventually import eventually
from tests.support.leaders import crash
from tests.support.team import Team

pytestmark = pytest.mark.integration


async def has_quota(team: Team, cpu: int) -> None:
    """Let the queue have so much of spot."""
    flavors = [{"name": team.full("spot"), "resources": [{"name": "cpu", "nominalQuota": cpu}]}]
    await team.change("clusterqueues", team.full("cq"), {"flavors": flavors})


async def until_in_part(jobs: HeldJobs, name: str, number: int, of: int) -> str:
    """Wait until the Job says that it has so many of its pods; return the message."""

    async def says() -> str:
        condition = condition_of(await jobs.get(name))
        assert condition is not None
        assert (condition["status"], condition["reason"]) == ("True", "AdmittedInPart"), condition
        assert f"with {number} of {of} pods" in condition["message"], condition
        return str(condition["message"])

    return await eventually(says, seconds=90, message=f"Job {name} does not say what it has")


async def until_whole(jobs: HeldJobs, name: str) -> None:
    """Wait until the Job says that it is admitted, and waits for nothing."""

    async def says() -> bool:
        job = await jobs.get(name)
        condition = condition_of(job)
        assert condition is None or condition["reason"] == "Admitted", condition
        assert WANTED_PARALLELISM not in job["metadata"]["annotations"]
        return True

    await eventually(says, seconds=90, message=f"Job {name} waits for more")


async def test_more_pods_of_a_job_wait_for_quota(team: Team, jobs: HeldJobs) -> None:
    await team.ready({"spot": {"cpu": 3}})
    await jobs.make("train", completions=50)
    await jobs.until_runs("train", 2)
    raised = await jobs.change("train", {"parallelism": 5})
    # an administrator of the tests is no member of the break-glass group
    assert raised["spec"]["parallelism"] == 2
    assert raised["metadata"]["annotations"][WANTED_PARALLELISM] == "5"
    await jobs.until_runs("train", 3)
    told = await until_in_part(jobs, "train", 3, 5)
    assert "2 more wait (QuotaExceeded)" in told
    await has_quota(team, 8)
    await jobs.until_runs("train", 5)
    assert (await jobs.get("train"))["spec"]["parallelism"] == 5
    await until_whole(jobs, "train")


async def test_a_wish_can_be_lowered_and_withdrawn(team: Team, jobs: HeldJobs, cluster: Cluster) -> None:
    await team.ready({"spot": {"cpu": 2}})
    await jobs.make("train", completions=50)
    await jobs.until_runs("train", 2)
    await jobs.change("train", {"parallelism": 5})
    await until_in_part(jobs, "train", 2, 5)
    controller = cluster.programs.controller
    await crash(controller, team.client)
    controller.start()
    await controller.wait_ready()
    await jobs.change("train", {"parallelism": 4})
    assert (await jobs.get("train"))["metadata"]["annotations"][WANTED_PARALLELISM] == "4"
    await jobs.change("train", {"parallelism": 1})
    assert WANTED_PARALLELISM not in (await jobs.get("train"))["metadata"]["annotations"]
    await until_whole(jobs, "train")
    await jobs.make("other", parallelism=1)
    await jobs.until_runs("other", 1)


async def test_an_indexed_job_gets_more_indexes(team: Team, jobs: HeldJobs) -> None:
    await team.ready({"spot": {"cpu": 3}})
    await jobs.make("train", completionMode="Indexed")
    await jobs.until_runs("train", 2)
    asked = await jobs.change("train", {"parallelism": 4, "completions": 4})
    assert (asked["spec"]["parallelism"], asked["spec"]["completions"]) == (2, 2)
    pods = await jobs.until_runs("train", 3)
    indexes = [pod["metadata"]["annotations"]["batch.kubernetes.io/job-completion-index"] for pod in pods]
    assert sorted(indexes) == ["0", "1", "2"]
    await jobs.change("train", {"suspend": True})
    await jobs.until_waiting("train", "NeverFits")
    await has_quota(team, 4)
    await jobs.until_runs("train", 4, seconds=90)
    await until_whole(jobs, "train")


async def test_a_job_is_admitted_with_as_many_pods_as_fit(team: Team, jobs: HeldJobs) -> None:
    preemption = {"withinClusterQueue": "LowerPriority"}
    await team.ready({"spot": {"cpu": 4}}, preemption=preemption)
    elastic = {"annotations": {MIN_PARALLELISM: "2"}}
    await jobs.make("train", parallelism=6, completions=50, metadata=elastic)
    await jobs.until_runs("train", 4)
    job = await jobs.get("train")
    assert (job["spec"]["parallelism"], job["metadata"]["annotations"][WANTED_PARALLELISM]) == (4, "6")
    await until_in_part(jobs, "train", 4, 6)

    await team.make("workloadpriorityclasses", "WorkloadPriorityClass", team.full("high"), {"value": 1000})
    high = {QUEUE_NAME: "main", PRIORITY_CLASS: team.full("high")}
    await jobs.make("urgent", "3", parallelism=1, labels=high)
    await jobs.until_runs("urgent", 1)
    await jobs.until_waiting("train", "QuotaExceeded")
    job = await jobs.get("train")
    assert job["spec"]["parallelism"] == 6
    assert WANTED_PARALLELISM not in (job["metadata"].get("annotations") or {})

    await has_quota(team, 8)
    await jobs.until_runs("train", 5)
    await jobs.delete("urgent")
    await jobs.until_runs("train", 6)
    await until_whole(jobs, "train")


async def test_a_minimum_that_is_no_number_is_told(team: Team, jobs: HeldJobs) -> None:
    await team.ready({"spot": {"cpu": 4}})
    texts = ("0", "3", "two")
    for text in texts:
        await jobs.make(f"job-{text}", metadata={"annotations": {MIN_PARALLELISM: text}})
    told = await asyncio.gather(*(jobs.until_waiting(f"job-{text}", "GangInvalid") for text in texts))
    assert told[0] == (
        "annotation penstock.dev/min-parallelism is '0'; write a number from 1 to spec.parallelism (2), or remove it"
    )
