"""Apiservers of two versions of Kubernetes side by side: queues work, the gate is kept alike, and nothing is stuck."""

from __future__ import annotations

import secrets
from typing import Any

import orjson
import pytest

from controller.core.keys import ADMITTED_BY
from controller.kube.client import Client
from controller.kube.errors import NotFound, TooManyRequests
from controller.sandbox import Sandbox
from tests.integration.jobs.held import HeldJobs
from tests.integration.protection.conftest import prepare
from tests.integration.protection.people import Field
from tests.integration.protection.table import Row, Where
from tests.integration.protection.test_parity import ROWS
from tests.integration.skew.conftest import NEWER, OLDER, Skewed
from tests.support.eventually import eventually
from tests.support.impersonation import Reply, impersonation
from tests.support.leaders import holder
from tests.support.team import Team, is_gated

pytestmark = [pytest.mark.integration, pytest.mark.more]

Json = dict[str, Any]
RBAC = "/apis/rbac.authorization.k8s.io/v1"


async def read(client: Client, path: str) -> Json:
    answer: Json = orjson.loads(await client.get(path))
    return answer


async def until_settled(team: Team) -> None:
    """Wait until the queue charges nothing and nobody waits."""

    async def is_settled() -> bool:
        status = await team.status("clusterqueues", team.full("cq"))
        counted = {key: status.get(key, 0) for key in ("pending", "reserved", "running")}
        assert not any(counted.values()), status
        return True

    await eventually(is_settled, message="the queue does not settle")


async def test_the_two_are_of_two_versions(skewed: Skewed) -> None:
    for kubeconfig, version in ((skewed.older, OLDER), (skewed.newer, NEWER)):
        async with skewed.cluster.sandbox.client(kubeconfig) as client:
            assert (await read(client, "/version"))["gitVersion"] == f"v{version}"


async def test_pods_are_queued_released_and_give_back(team: Team) -> None:
    await team.ready({"spot": {"cpu": 2}})
    for name in ("a", "b", "c"):
        assert is_gated(await team.pod(name))
        if name != "c":
            await team.until_bound(name)
    await team.until_waiting("c", "QuotaExceeded")
    assert (await team.get("a"))["metadata"]["annotations"][ADMITTED_BY] == await holder(team.client)
    await team.end("a")
    await team.until_bound("c")
    for name in ("b", "c"):
        await team.end(name)
    await until_settled(team)


async def test_jobs_are_held_released_and_complete(team: Team, jobs: HeldJobs) -> None:
    await team.ready({"spot": {"cpu": 2}})
    await jobs.make("first", run_for="2s")
    await jobs.until_runs("first", 2)
    await jobs.make("second", run_for="2s")
    await jobs.until("first", "Complete")
    await jobs.until("second", "Complete")
    await until_settled(team)


async def test_a_preempted_job_waits_again_and_runs(team: Team, jobs: HeldJobs) -> None:
    await team.ready({"spot": {"cpu": 2}})
    await jobs.make("train")
    await jobs.until_runs("train", 2)
    await team.change("clusterqueues", team.full("cq"), {"stopPolicy": "HoldAndDrain"})
    await jobs.until_waiting("train", "QueueStopped")
    await team.change("clusterqueues", team.full("cq"), {"stopPolicy": "None"})
    await jobs.until_runs("train", 2)


async def test_both_answer_each_request_about_pods_alike(skewed: Skewed) -> None:
    namespaces = {where: f"{where}-{secrets.token_hex(3)}" for where in Where}
    sandbox = skewed.cluster.sandbox
    await forget_roles(sandbox)
    await prepare(sandbox, namespaces)
    async with (
        sandbox.client() as client,
        impersonation(sandbox, skewed.older) as older,
        impersonation(sandbox, skewed.newer) as newer,
    ):
        fields = Field(client, older, namespaces), Field(client, newer, namespaces)
        differ = [text for row in ROWS if (text := await difference(row, *fields))]
    assert differ == []


async def forget_roles(sandbox: Sandbox) -> None:
    """Remove what the same test made with the controller at the other apiserver."""
    async with sandbox.client() as client:
        for kind in ("clusterroles", "clusterrolebindings"):
            everything = await read(client, f"{RBAC}/{kind}")
            for name in (one["metadata"]["name"] for one in everything["items"]):
                if name.startswith(("table-", "kind-controller-")):
                    await client.delete(f"{RBAC}/{kind}/{name}")


async def difference(row: Row, older: Field, newer: Field) -> str:
    """What the two answer to one request about one pod, where that differs."""
    name = await older.prepare(row.does)
    answers = [told(await field.about(name, row.who, row.does)) for field in (older, newer)]
    return "" if answers[0] == answers[1] else f"{row.rule}: {row.name}: {answers}"


def told(reply: Reply) -> tuple[int, object]:
    """The code, with the refusal or what of the pod is ours to say."""
    if reply.code >= 300:
        return reply.code, reply.body["message"]
    metadata, spec = reply.body["metadata"], reply.body.get("spec") or {}
    return reply.code, [metadata.get("labels"), metadata.get("annotations"), spec.get("schedulingGates")]


async def test_each_reads_all_that_the_other_has_stored(skewed: Skewed, team: Team, jobs: HeldJobs) -> None:
    await team.ready()
    await team.pod("one")
    await jobs.make("train")
    sandbox = skewed.cluster.sandbox
    async with sandbox.client(skewed.older) as older, sandbox.client(skewed.newer) as newer:
        common = await collections(older) & await collections(newer)
        assert len(common) > 50
        for path in sorted(common):
            before, other, after = [await names(one, path) for one in (older, newer, older)]
            assert before & after <= other <= before | after, path


async def collections(client: Client) -> set[str]:
    """Paths of all that can be listed."""
    groups = (await read(client, "/apis"))["groups"]
    roots = ["/api/v1", *(f"/apis/{one['groupVersion']}" for group in groups for one in group["versions"])]
    found = set()
    for root in roots:
        try:
            resources = (await read(client, root))["resources"]
        except NotFound:  # announced for the other apiserver, which alone serves it
            continue
        found |= {f"{root}/{one['name']}" for one in resources if "list" in one["verbs"]}
    return found


async def names(client: Client, path: str) -> set[str]:
    async def listed() -> Json | None:
        try:
            return await read(client, path)
        except TooManyRequests:  # its cache of this kind is not filled yet
            return None

    document = await eventually(listed, message=f"{path} is not served")
    assert document is not None
    return {f"{one['metadata'].get('namespace')}/{one['metadata']['name']}" for one in document["items"]}
