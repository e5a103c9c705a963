"""Jobs that are held as a whole, on the real control plane: what is stored, and what the Job controller makes of it."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from controller.core.keys import HOLD, HOLD_PODS, QUEUE_NAME
from controller.kube.client import Client
from tests.integration.protection.job_field import a_job
from tests.support.eventually import eventually
from tests.support.team import Team, is_gated

pytestmark = pytest.mark.integration
QUEUED = {"labels": {QUEUE_NAME: "main"}}


def jobs(team: Team) -> str:
    return f"/apis/batch/v1/namespaces/{team.namespace}/jobs"


async def job(team: Team, client: Client, name: str) -> dict[str, Any]:
    found: dict[str, Any] = orjson.loads(await client.get(f"{jobs(team)}/{name}"))
    return found


async def test_a_job_of_a_queue_makes_no_pods(team: Team, client: Client) -> None:
    await client.post(jobs(team), a_job("held", QUEUED, {}, {"activeDeadlineSeconds": 1}))

    async def is_settled() -> bool:
        conditions = (await job(team, client, "held"))["status"].get("conditions", ())
        return [one["type"] for one in conditions if one["status"] == "True"] == ["Suspended"]

    await eventually(is_settled, message="the Job controller has not seen that the Job is suspended")
    status = (await job(team, client, "held"))["status"]
    assert (status.get("startTime"), await team.all()) == (None, {})


async def test_of_a_job_with_a_queue_in_its_template_pods_wait(team: Team, client: Client) -> None:
    await client.post(jobs(team), a_job("pods", {}, QUEUED, {}))

    async def waiting() -> list[dict[str, Any]]:
        pods = list((await team.all()).values())
        assert len(pods) == 2
        return pods

    assert all(map(is_gated, await eventually(waiting, message="the Job has no pods")))
    # the apiserver makes the template's labels those of a Job that has none, whenever it reads one
    labels = (await job(team, client, "pods"))["metadata"]["labels"]
    assert (labels[HOLD], QUEUE_NAME in labels) == (HOLD_PODS, False)
