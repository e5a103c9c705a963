"""Jobs that are held as a whole, on the real control plane: what is stored, and what the Job controller makes of it."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from controller.core.keys import ADMITTED_BY, ADMITTED_JOB, CLUSTER_QUEUE, FLAVOR, HOLD, HOLD_PODS, QUEUE_NAME
from controller.kube.client import MERGE_PATCH, Client
from controller.kube.errors import Forbidden
from tests.integration.protection.job_field import a_job
from tests.support.eventually import eventually
from tests.support.impersonation import Identity, Impersonation
from tests.support.leaders import until_leads
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


async def test_pods_of_an_admitted_job_keep_their_stamps(team: Team, client: Client, apiserver: Impersonation) -> None:
    await client.post(jobs(team), a_job("runs", QUEUED, {}, {}))
    uid = (await job(team, client, "runs"))["metadata"]["uid"]
    labels = {CLUSTER_QUEUE: "team", FLAVOR: "spot"}
    signed = {ADMITTED_BY: await until_leads(client, "sandbox")}
    template = {"metadata": {"labels": {QUEUE_NAME: "main", **labels}, "annotations": {ADMITTED_JOB: uid, **signed}}}
    patch = {
        "metadata": {"labels": labels, "annotations": signed},
        "spec": {"suspend": False, "template": template},
    }
    path = f"{jobs(team)}/runs"
    with pytest.raises(Forbidden, match="keys-are-ours"):
        await client.patch(path, patch, content_type=MERGE_PATCH)
    controller = Identity("system:serviceaccount:penstock-system:penstock-controller", ("system:masters",))
    reply = await apiserver.send(controller, "PATCH", path, patch, content_type=MERGE_PATCH)
    assert reply.code == 200, reply.body

    async def made() -> dict[str, dict[str, Any]]:
        pods = await team.all()
        assert len(pods) == 2
        return pods

    pods = await eventually(made, message="the Job has no pods")
    for pod in pods.values():
        assert pod["metadata"]["labels"].items() >= {QUEUE_NAME: "main", **labels}.items()
        assert (pod["metadata"]["annotations"][ADMITTED_JOB], is_gated(pod)) == (uid, False)
    with pytest.raises(Forbidden, match="keys-are-ours"):
        await team.patch(next(iter(pods)), [{"op": "remove", "path": "/metadata/labels/penstock.dev~1flavor"}])
