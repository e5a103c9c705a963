"""Jobs that are held as a whole leave by suspension: preempted, drained, or taken back; nothing counts as failed."""

from __future__ import annotations

import asyncio

import pytest

from controller.core.keys import EVICTION, PRIORITY_CLASS, QUEUE_NAME
from tests.integration.jobs.held import HeldJobs, is_stamped
from tests.support.clusters import Cluster
from tests.support.eventually import eventually
from tests.support.leaders import crash
from tests.support.team import Team

pytestmark = pytest.mark.integration


async def high(team: Team) -> dict[str, str]:
    """Make a WorkloadPriorityClass; return the labels of a Job that has it."""
    await team.make("workloadpriorityclasses", "WorkloadPriorityClass", team.full("high"), {"value": 1000})
    return {QUEUE_NAME: "main", PRIORITY_CLASS: team.full("high")}


async def test_a_job_is_preempted_and_admitted_again_elsewhere(team: Team, jobs: HeldJobs) -> None:
    quotas = {"spot": {"cpu": 4}, "on-demand": {"cpu": 0}}
    await team.ready(quotas, preemption={"withinClusterQueue": "LowerPriority"})
    before = await jobs.make("low", "2", activeDeadlineSeconds=3600, backoffLimit=0)
    await jobs.until_runs("low", 2, flavor="spot")
    await jobs.make("urgent", "2", labels=await high(team))
    await jobs.until_runs("urgent", 2, flavor="spot")
    await jobs.until_waiting("low", "QuotaExceeded")
    low = await jobs.get("low")
    assert low["spec"] == before["spec"]
    assert not is_stamped(low)
    assert low["status"].get("failed", 0) == 0
    assert "startTime" not in low["status"]
    (told,) = (one for one in low["status"]["conditions"] if one["type"] == EVICTION)
    assert (told["status"], told["reason"]) == ("True", "Preempted")

    more = [
        {"name": team.full("spot"), "resources": [{"name": "cpu", "nominalQuota": 4}]},
        {"name": team.full("on-demand"), "resources": [{"name": "cpu", "nominalQuota": 4}]},
    ]
    await team.change("clusterqueues", team.full("cq"), {"flavors": more})
    await jobs.until_runs("low", 2, flavor="on-demand")


async def test_a_drained_queue_suspends_its_jobs(team: Team, jobs: HeldJobs) -> None:
    await team.ready({"spot": {"cpu": 4}})
    await asyncio.gather(jobs.make("one"), jobs.make("two"))
    await asyncio.gather(jobs.until_runs("one", 2), jobs.until_runs("two", 2))
    await team.change("clusterqueues", team.full("cq"), {"stopPolicy": "HoldAndDrain"})
    for name in ("one", "two"):
        await jobs.until_waiting(name, "QueueStopped")
    await eventually(lambda: none_left(team), message="pods of a suspended Job stay")
    await team.change("clusterqueues", team.full("cq"), {"stopPolicy": "None"})
    await asyncio.gather(jobs.until_runs("one", 2), jobs.until_runs("two", 2))


async def none_left(team: Team) -> bool:
    assert await team.all() == {}
    return True


async def test_a_quota_that_shrinks_takes_a_job_back(team: Team, jobs: HeldJobs) -> None:
    await team.ready({"spot": {"cpu": 4}}, reclaimOverQuota=True)
    await asyncio.gather(jobs.make("one"), jobs.make("two"))
    await asyncio.gather(jobs.until_runs("one", 2), jobs.until_runs("two", 2))
    less = [{"name": team.full("spot"), "resources": [{"name": "cpu", "nominalQuota": 2}]}]
    await team.change("clusterqueues", team.full("cq"), {"flavors": less})

    async def stopped() -> str:
        (found,) = [name for name in ("one", "two") if (await jobs.get(name))["spec"]["suspend"]]
        return found

    waits = await eventually(stopped, message="no Job was taken back, or both were")
    await jobs.until_waiting(waits, "QuotaExceeded")
    await jobs.until_runs("two" if waits == "one" else "one", 2)


async def test_a_controller_that_is_killed_loses_nothing(team: Team, jobs: HeldJobs, cluster: Cluster) -> None:
    await team.ready({"spot": {"cpu": 4}})
    controller = cluster.programs.controller
    names = [f"job-{number}" for number in range(6)]
    await asyncio.gather(*map(jobs.make, names))
    await crash(controller, team.client)
    controller.start()
    await controller.wait_ready()

    async def two_run() -> bool:
        running = [name for name in names if not (await jobs.get(name))["spec"]["suspend"]]
        assert len(running) == 2, running
        assert len(await team.all()) == 4
        return True

    await eventually(two_run, seconds=90, message="not just the Jobs run for which there is quota")
    running = [name for name in names if not (await jobs.get(name))["spec"]["suspend"]]
    await jobs.delete(running[0])
    names.remove(running[0])
    await eventually(two_run, seconds=90, message="the next Job does not run")
