"""Jobs that name a queue themselves: held as a whole, released by one patch, charged until they end."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from controller.core.keys import ADMITTED_JOB, CLUSTER_QUEUE, FLAVOR, QUEUE_NAME
from tests.integration.jobs.held import HeldJobs, condition_of, is_stamped
from tests.support.eventually import eventually
from tests.support.team import TEAM_LABEL, Team, is_gated

pytestmark = pytest.mark.integration


async def test_a_job_waits_as_a_whole_and_its_deadline_with_it(team: Team, jobs: HeldJobs) -> None:
    await team.ready(stopPolicy="Hold")
    await jobs.make("train", activeDeadlineSeconds=3600)
    message = await jobs.until_waiting("train", "QueueStopped")
    assert "deadline" not in message.lower()
    job = await jobs.get("train")
    assert "startTime" not in job["status"]
    assert await team.all() == {}


async def test_one_patch_releases_it_onto_the_second_flavor(team: Team, jobs: HeldJobs) -> None:
    await team.ready({"spot": {"cpu": 1}, "on-demand": {"cpu": 4}}, stopPolicy="Hold")
    before = await jobs.make("train", "2")
    await jobs.until_waiting("train", "QueueStopped")
    await team.change("clusterqueues", team.full("cq"), {"stopPolicy": "None"})
    pods = await jobs.until_runs("train", 2, flavor="on-demand")
    job = await jobs.get("train")
    template = job["spec"]["template"]
    assert template["spec"]["nodeSelector"] == {TEAM_LABEL: team.id, "shape": "on-demand"}
    assert job["metadata"]["generation"] == before["metadata"]["generation"] + 1
    stamps = {QUEUE_NAME: "main", CLUSTER_QUEUE: team.full("cq"), FLAVOR: team.full("on-demand")}
    for pod in pods:
        assert not is_gated(pod)
        assert stamps.items() <= pod["metadata"]["labels"].items()
        assert pod["metadata"]["annotations"][ADMITTED_JOB] == job["metadata"]["uid"]
    condition = await eventually(lambda: admitted(jobs, "train"), message="the Job does not say where it is")
    where = f"ClusterQueue {team.full('cq')} onto flavor {team.full('on-demand')}"
    assert condition["message"] == f"Admitted by {where}"


async def admitted(jobs: HeldJobs, name: str) -> dict[str, Any]:
    condition = condition_of(await jobs.get(name))
    assert condition is not None
    assert (condition["status"], condition["reason"]) == ("True", "Admitted"), condition
    return condition


async def test_the_queue_is_charged_for_all_of_it_until_it_ends(team: Team, jobs: HeldJobs) -> None:
    await team.ready({"spot": {"cpu": 4}})
    await jobs.make("first", "2", run_for="10s")
    await jobs.make("second", "1", parallelism=3, run_for="1h")
    await jobs.until_runs("first", 2)
    assert (await jobs.get("second"))["spec"]["suspend"]
    await jobs.until("first", "Complete")
    await jobs.until_runs("second", 3)

    async def told() -> bool:
        status = await team.status("clusterqueues", team.full("cq"))
        assert [status.get(name) for name in ("pending", "reserved", "running")] == [0, 0, 3], status
        return True

    await eventually(told, message="the queue does not count the pods of the Job")


async def test_a_job_that_is_suspended_by_hand_waits_again(team: Team, jobs: HeldJobs) -> None:
    await team.ready({"spot": {"cpu": 2}})
    before = await jobs.make("train")
    await jobs.until_runs("train", 2)
    await team.change("clusterqueues", team.full("cq"), {"stopPolicy": "Hold"})
    await jobs.change("train", {"suspend": True})
    await jobs.until_waiting("train", "QueueStopped")
    job = await jobs.get("train")
    assert not is_stamped(job)
    assert job["spec"]["template"] == before["spec"]["template"]
    assert job["status"].get("failed", 0) == 0
    await team.change("clusterqueues", team.full("cq"), {"stopPolicy": "None"})
    await jobs.until_runs("train", 2)


async def test_a_job_that_is_deleted_gives_all_back(team: Team, jobs: HeldJobs) -> None:
    await team.ready({"spot": {"cpu": 2}})
    await jobs.make("first")
    await jobs.until_runs("first", 2)
    await jobs.make("second")
    await jobs.until_waiting("second", "QuotaExceeded")
    await jobs.delete("first")
    await jobs.until_runs("second", 2)


FAILURES = {"backoffLimitPerIndex": 1, "maxFailedIndexes": 1, "completionMode": "Indexed"}
SUCCESS = {"completionMode": "Indexed", "successPolicy": {"rules": [{"succeededIndexes": "0"}]}}


@pytest.mark.parametrize(
    "spec",
    [
        {"completionMode": "Indexed"},
        {"completions": None},
        {"backoffLimit": 0},
        {"ttlSecondsAfterFinished": 3600},
        {"podReplacementPolicy": "Failed"},
        FAILURES,
        SUCCESS,
    ],
    ids=lambda spec: next(iter(spec)),
)
async def test_every_kind_of_job_ends_in_its_queue(team: Team, jobs: HeldJobs, spec: dict[str, Any]) -> None:
    await team.ready({"spot": {"cpu": 2}})
    await jobs.make("train", run_for="2s", **spec)
    await jobs.until("train", "Complete")
    await jobs.make("next")
    await jobs.until_runs("next", 2)


async def test_a_job_that_another_manages_is_left_alone(team: Team, jobs: HeldJobs) -> None:
    await team.ready({"spot": {"cpu": 1}})
    await jobs.make("managed", managedBy="example.com/manager")
    await jobs.make("next", parallelism=1)
    await jobs.until_runs("next", 1)
    assert condition_of(await jobs.get("managed")) is None


@pytest.mark.more
async def test_each_job_of_a_cron_job_is_held(team: Team, jobs: HeldJobs) -> None:
    await team.ready(stopPolicy="Hold")
    containers = [{"name": "main", "image": "none", "resources": {"requests": {"cpu": "1"}}}]
    template = {"spec": {"restartPolicy": "Never", "containers": containers}}
    job = {"metadata": {"labels": {QUEUE_NAME: "main"}}, "spec": {"template": template}}
    path = f"/apis/batch/v1/namespaces/{team.namespace}/cronjobs"
    await team.client.post(path, {"metadata": {"name": "tick"}, "spec": {"schedule": "* * * * *", "jobTemplate": job}})

    async def made() -> str:
        (found,) = orjson.loads(await team.client.get(jobs.path))["items"]
        return str(found["metadata"]["name"])

    name = await eventually(made, seconds=90, message="the CronJob makes no Job")
    await jobs.until_waiting(name, "QueueStopped")
    assert await team.all() == {}
