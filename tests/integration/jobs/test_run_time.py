"""Jobs that may only run for so long: Kubernetes ends them, and the time of all their admissions counts."""

from __future__ import annotations

import asyncio

import pytest

from controller.core.keys import ACCEPTED, KUEUE_LABELS, KUEUE_QUEUE, MAX_RUN_TIME, RUN_TIME_LIMIT, RUN_TIME_USED
from controller.kube.client import STRATEGIC_PATCH
from controller.kube.errors import Forbidden
from tests.integration.jobs.held import HeldJobs
from tests.support.eventually import eventually
from tests.support.team import Json, Team

pytestmark = pytest.mark.integration


async def event_of(team: Team, reason: str) -> Json:
    """Wait until there is an Event of this reason in the team's namespace."""

    async def there() -> Json:
        return next(one for one in await team.events() if one["reason"] == reason)

    return await eventually(there, message=f"no Event {reason}")


async def test_a_job_is_ended_when_its_time_is_over(team: Team, jobs: HeldJobs) -> None:
    await team.ready(maxRunTime="20s")
    await jobs.make("train")
    await jobs.until_runs("train", 2)
    running = await jobs.get("train")
    assert running["spec"]["activeDeadlineSeconds"] == 20
    assert running["metadata"]["annotations"][RUN_TIME_LIMIT] == "20"
    ended = await jobs.until("train", "Failed")
    (said,) = [one for one in ended["status"]["conditions"] if one["type"] == "Failed"]
    assert said["reason"] == "DeadlineExceeded"
    told = await event_of(team, "RunTimeEnds")
    assert told["involvedObject"]["name"] == "train"
    assert told["message"].endswith("it was admitted to run for 20s")


async def test_time_before_a_suspension_counts(team: Team, jobs: HeldJobs) -> None:
    await team.ready(maxRunTime="1h")
    await jobs.make("train", metadata={"annotations": {MAX_RUN_TIME: "30m"}}, activeDeadlineSeconds=7200)
    await jobs.until_runs("train", 2)
    assert (await jobs.get("train"))["spec"]["activeDeadlineSeconds"] == 1800
    await team.change("clusterqueues", team.full("cq"), {"stopPolicy": "Hold"})
    await asyncio.sleep(2)
    await jobs.change("train", {"suspend": True})

    async def waits() -> Json:
        job = await jobs.get("train")
        assert RUN_TIME_LIMIT not in job["metadata"]["annotations"]
        return job

    waiting = await eventually(waits, message="the Job is not put back")
    assert waiting["spec"]["activeDeadlineSeconds"] == 7200
    used = int(waiting["metadata"]["annotations"][RUN_TIME_USED])
    assert 2 <= used < 120
    await team.change("clusterqueues", team.full("cq"), {"stopPolicy": "None"})
    await jobs.until_runs("train", 2)
    again = await jobs.get("train")
    assert again["spec"]["activeDeadlineSeconds"] == 1800 - used
    assert again["metadata"]["annotations"][RUN_TIME_LIMIT] == str(1800 - used)


async def test_kueues_label_limits_a_job(team: Team, jobs: HeldJobs) -> None:
    await team.ready()
    accepted = {"metadata": {"labels": {KUEUE_LABELS: ACCEPTED}}}
    await team.client.patch(f"/api/v1/namespaces/{team.namespace}", accepted, content_type=STRATEGIC_PATCH)
    labels = {KUEUE_QUEUE: "main", "kueue.x-k8s.io/max-exec-time-seconds": "600"}

    async def is_limited() -> bool:
        try:
            tried = await jobs.make("train", labels=labels)
        except Forbidden:  # one webhook knows the label of the namespace before the other
            return False
        if MAX_RUN_TIME in tried["metadata"].get("annotations", {}):
            return True
        await jobs.delete("train")
        return False

    await eventually(is_limited, message="Kueue's labels are not accepted")
    await jobs.until_runs("train", 2)
    assert (await jobs.get("train"))["spec"]["activeDeadlineSeconds"] == 600


async def test_a_class_limits_pods_that_wait_at_the_gate(team: Team) -> None:
    await team.make(
        "workloadpriorityclasses", "WorkloadPriorityClass", team.full("short"), {"value": 1, "maxRunTime": "5m"}
    )
    await team.ready(maxRunTime="1h")
    await team.pod("long")
    await team.pod("short", labels={"penstock.dev/priority-class": team.full("short")})
    pods = await team.until_bound("long", "short")
    assert {name: pod["spec"]["activeDeadlineSeconds"] for name, pod in pods.items()} == {"long": 3600, "short": 300}
