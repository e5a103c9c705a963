"""What the webhook asks of the apiserver while it answers reviews, with everything switched on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from controller.core.keys import DEFAULT_RUNTIME_CLASS
from controller.sandbox import Sandbox
from controller.sandbox.installation import installed
from tests.support.accounts import AccountTeam
from tests.support.audit import requests
from tests.support.eventually import eventually
from tests.support.kubernetes import VERSION
from tests.support.team import TEAM_LABEL, Json

pytestmark = pytest.mark.integration

COMPONENTS = ("pod-policies", "pod-template-policies", "scheduling-policies", "runtime-class")
ARGUMENTS = ("--pod-policies", "--scheduling-policies", "--runtime-classes")
CLASSES = "/apis/node.k8s.io/v1/runtimeclasses"
WEBHOOK = "system:serviceaccount:penstock-system:penstock-webhook"
GIVEN = {"runtime": "kata", "of": "policy", "of-account": "yes"}
PODS = 20


@pytest.fixture
async def team() -> AsyncIterator[AccountTeam]:
    """A team of a cluster with a policy of every system, which all give its pods something."""
    async with (
        Sandbox.start(kubernetes=VERSION, audit=True) as sandbox,
        installed(sandbox, components=COMPONENTS, webhook_arguments=ARGUMENTS),
        sandbox.client() as client,
    ):
        team = AccountTeam(client, sandbox)
        await client.post(
            CLASSES, {"metadata": {"name": "kata"}, "handler": "h", "scheduling": {"nodeSelector": {"runtime": "kata"}}}
        )
        await team.open({TEAM_LABEL: team.id, DEFAULT_RUNTIME_CLASS: "kata"})
        await team.ready()
        for target in ("Pods", "PodTemplates"):
            spec = {"podSelector": {}, "target": target, "nodeSelector": {"of": "policy"}}
            where = f"namespaces/{team.namespace}/podschedulingpolicies"
            await team.make(where, "PodSchedulingPolicy", target.lower(), spec)
        everything: Json = {"nodeSelectors": {}, "runtimeClassNames": []}
        await team.policy("own", allowed=everything, default={"nodeSelector": {"of-account": "yes"}})
        yield team


@pytest.mark.more
async def test_reviews_cost_no_request_once_all_is_known(team: AccountTeam) -> None:
    def asked() -> list[str]:
        return [
            f"{one['verb']} {one['requestURI']}" for one in requests(team.sandbox) if one["user"]["username"] == WEBHOOK
        ]

    await eventually(lambda: _is_complete(team), message="not every policy has reached the webhook")
    assert any(request.startswith("watch ") for request in asked())  # else the log tells us nothing
    before = [request for request in asked() if not request.startswith("watch ")]
    job = {
        "parallelism": PODS,
        "completions": PODS,
        "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "none"}]}},
    }
    jobs = f"/apis/batch/v1/namespaces/{team.namespace}/jobs"
    await team.client.post(jobs, {"metadata": {"name": "job"}, "spec": job})
    await asyncio.gather(*(team.pod(f"pod-{number}") for number in range(PODS)))

    async def all_there() -> bool:
        return len(await team.all()) == 2 * PODS

    await eventually(all_there, message="the job has not made its pods")
    assert all(pod["spec"]["nodeSelector"] == GIVEN for pod in (await team.all()).values())
    assert [request for request in asked() if not request.startswith("watch ")] == before


async def _is_complete(team: AccountTeam) -> bool:
    pod, _ = await team.tried()
    spec: Json = pod.get("spec") or {}
    return bool(spec.get("nodeSelector") == GIVEN)
