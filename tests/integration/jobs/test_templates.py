"""What the apiserver adds to pods when they are created counts for a Job before it has any."""

from __future__ import annotations

import secrets

import pytest

from controller.kube.client import Client
from tests.integration.jobs.held import HeldJobs
from tests.support.team import Team

pytestmark = pytest.mark.integration


async def test_a_limit_range_and_a_runtime_class_are_charged(team: Team, jobs: HeldJobs, client: Client) -> None:
    await team.ready({"spot": {"cpu": 4}})
    kata = f"kata-{secrets.token_hex(3)}"
    runtime = {"metadata": {"name": kata}, "handler": "kata", "overhead": {"podFixed": {"cpu": "500m"}}}
    await client.post("/apis/node.k8s.io/v1/runtimeclasses", runtime)
    limits = [{"type": "Container", "defaultRequest": {"cpu": "1"}, "default": {"cpu": "3"}}]
    body = {"metadata": {"name": "usual"}, "spec": {"limits": limits}}
    await client.post(f"/api/v1/namespaces/{team.namespace}/limitranges", body)
    # two pods of 1.5 cpu each; without what is added they would ask for nothing
    template = {"containers": [{"name": "main", "image": "none"}], "runtimeClassName": kata}
    await jobs.make("two", template=template)
    await jobs.until_runs("two", 2)
    await jobs.make("three", template=template, parallelism=1)
    assert "cpu" in await jobs.until_waiting("three", "QuotaExceeded")
    await client.delete(f"/apis/node.k8s.io/v1/runtimeclasses/{kata}")


async def test_a_priority_class_orders_jobs(team: Team, jobs: HeldJobs, client: Client) -> None:
    await team.ready({"spot": {"cpu": 0}})
    name = f"urgent-{secrets.token_hex(3)}"
    await client.post("/apis/scheduling.k8s.io/v1/priorityclasses", {"metadata": {"name": name}, "value": 1000})
    for job, template in (("first", {}), ("urgent", {"priorityClassName": name})):
        await jobs.make(job, "4", parallelism=1, template=template)
        await jobs.until_waiting(job, "NeverFits")
    quota = [{"name": team.full("spot"), "resources": [{"name": "cpu", "nominalQuota": 4}]}]
    await team.change("clusterqueues", team.full("cq"), {"flavors": quota})
    await jobs.until_runs("urgent", 1)
    assert (await jobs.get("first"))["spec"]["suspend"]
    await client.delete(f"/apis/scheduling.k8s.io/v1/priorityclasses/{name}")
