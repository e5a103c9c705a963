"""Manifests written for Kueue, in a namespace that has its labels accepted, in both ways of keeping the gate."""

from __future__ import annotations

from typing import Any

import pytest

from controller.core.keys import (
    ACCEPTED,
    GANG,
    KUEUE_LABELS,
    KUEUE_QUEUE,
    KUEUE_REQUIRED_TOPOLOGY,
    KUEUE_SLICE_SIZE,
    KUEUE_SLICE_TOPOLOGY,
    PRIORITY_CLASS,
    QUEUE_NAME,
    REQUIRED_TOPOLOGY,
    SLICE_SIZE,
    SLICE_TOPOLOGY,
    USER,
)
from controller.kube.client import STRATEGIC_PATCH, Client
from controller.kube.errors import Forbidden
from tests.integration.protection.conftest import Protected
from tests.integration.protection.outage import Outage
from tests.integration.protection.people import AS_BREAK_GLASS
from tests.support.command import penstock
from tests.support.eventually import eventually
from tests.support.impersonation import Identity, Impersonation, Reply
from tests.support.team import TEAM_LABEL, Team

Json = dict[str, Any]
pytestmark = pytest.mark.integration

ALICE = Identity("alice", ("system:masters", "system:authenticated"))
BY_KUEUE = {KUEUE_QUEUE: "main", "kueue.x-k8s.io/priority-class": "high"}
POD_SPEC = {"containers": [{"name": "main", "image": "none", "resources": {"requests": {"cpu": "1"}}}]}


def job(name: str, labels: Json, **spec: Any) -> Json:
    template = {"metadata": {"annotations": {"run-for": "1s"}}, "spec": {**POD_SPEC, "restartPolicy": "Never"}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "labels": labels},
        "spec": {"template": template, **spec},
    }


def jobs(team: Team) -> str:
    return f"/apis/batch/v1/namespaces/{team.namespace}/jobs"


def made(reply: Reply) -> Json:
    assert reply.code == 201, reply.body
    return reply.body


@pytest.fixture
async def moving(team: Team, client: Client, apiserver: Impersonation) -> Team:
    """A team whose namespace has Kueue's labels accepted; admission hears of that a moment later."""
    labels = {"metadata": {"labels": {KUEUE_LABELS: ACCEPTED}}}
    await client.patch(f"/api/v1/namespaces/{team.namespace}", labels, content_type=STRATEGIC_PATCH)

    async def is_known() -> bool:
        reply = await apiserver.send(ALICE, "POST", jobs(team), job("x", BY_KUEUE), params={"dryRun": "All"})
        return QUEUE_NAME in made(reply)["metadata"]["labels"]

    await eventually(is_known, message="Kueue's labels are not accepted")
    return team


async def test_a_job_as_kueue_wants_it_is_held_and_of_its_user(moving: Team, apiserver: Impersonation) -> None:
    for suspend in (True, False):
        written = job("train", BY_KUEUE, suspend=suspend, parallelism=2, completions=2)
        notes = {KUEUE_REQUIRED_TOPOLOGY: "shape", KUEUE_SLICE_TOPOLOGY: "shape", KUEUE_SLICE_SIZE: "2"}
        written["spec"]["template"]["metadata"]["annotations"] |= notes
        held = made(await apiserver.send(ALICE, "POST", jobs(moving), written, params={"dryRun": "All"}))
        assert held["spec"]["suspend"] is True
        assert held["metadata"]["labels"] == {**BY_KUEUE, QUEUE_NAME: "main", PRIORITY_CLASS: "high"}
        metadata = held["spec"]["template"]["metadata"]
        assert (metadata["annotations"][USER], GANG in metadata["annotations"]) == ("alice", False)
        assert QUEUE_NAME not in metadata.get("labels", {})
        found = [metadata["annotations"][key] for key in (REQUIRED_TOPOLOGY, SLICE_TOPOLOGY, SLICE_SIZE)]
        assert found == ["shape", "shape", "2"]


async def test_a_job_without_kueues_label_stays_suspended(moving: Team, apiserver: Impersonation) -> None:
    spec = made(await apiserver.send(ALICE, "POST", jobs(moving), job("plain", {"app": "a"}, suspend=True)))["spec"]
    assert spec["suspend"] is True
    assert QUEUE_NAME not in spec["template"]["metadata"].get("labels", {})


async def test_a_job_without_a_queue_or_of_a_job_set_is_suspended(moving: Team, apiserver: Impersonation) -> None:
    async def stored(labels: Json, maker: Json | None = None) -> Json:
        """Whether it is suspended, and the queue of its pods and its own."""
        written = job("one", labels, suspend=True, parallelism=2)
        written["metadata"]["ownerReferences"] = [] if maker is None else [{**maker, "uid": "7", "controller": True}]
        reply = await apiserver.send(ALICE, "POST", jobs(moving), written, params={"dryRun": "All"})
        body = made(reply)
        of_pods = body["spec"]["template"]["metadata"].get("labels", {}).get(QUEUE_NAME)
        return {"suspend": body["spec"]["suspend"], "pods": of_pods, "own": body["metadata"]["labels"].get(QUEUE_NAME)}

    assert await stored({KUEUE_QUEUE: ""}) == {"suspend": True, "pods": None, "own": None}
    job_set = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "name": "set"}
    assert await stored(BY_KUEUE, job_set) == {"suspend": True, "pods": "main", "own": None}
    cron_job = {"apiVersion": "batch/v1", "kind": "CronJob", "name": "nightly"}
    assert await stored(BY_KUEUE, cron_job) == {"suspend": True, "pods": None, "own": "main"}


async def test_a_deployment_and_a_cron_job_queue_their_pods(moving: Team, apiserver: Impersonation) -> None:
    template = {"metadata": {"labels": {"app": "a"}}, "spec": POD_SPEC}
    body = {"metadata": {"name": "web", "labels": BY_KUEUE}}
    spec: Json = {"replicas": 1, "selector": {"matchLabels": {"app": "a"}}, "template": template}
    path = f"/apis/apps/v1/namespaces/{moving.namespace}/deployments"
    web = made(await apiserver.send(ALICE, "POST", path, {**body, "spec": spec}))
    assert web["spec"]["template"]["metadata"]["labels"] == {"app": "a", QUEUE_NAME: "main", PRIORITY_CLASS: "high"}

    async def pod() -> Json:
        found = [one for name, one in (await moving.all()).items() if name.startswith("web")]
        assert found
        return found[0]

    waits = await eventually(pod, message="the Deployment has no pod")
    assert (waits["metadata"]["labels"][QUEUE_NAME], waits["metadata"]["annotations"][USER]) == ("main", "alice")
    nightly = job("nightly", BY_KUEUE, parallelism=2)
    jobs_made = {"metadata": {"labels": BY_KUEUE}, "spec": nightly["spec"]}
    cron: Json = {
        "metadata": {"name": "nightly"},
        "spec": {"schedule": "* * * * *", "suspend": True, "jobTemplate": jobs_made},
    }
    path = f"/apis/batch/v1/namespaces/{moving.namespace}/cronjobs"
    stored = made(await apiserver.send(ALICE, "POST", path, cron))["spec"]["jobTemplate"]
    inner = stored["spec"]["template"]["metadata"]
    # the Jobs that it makes are held as wholes, so that is all
    assert (inner["annotations"][USER], QUEUE_NAME in inner.get("labels", {})) == ("alice", False)
    assert stored["metadata"]["labels"] == BY_KUEUE


async def test_running_pods_of_kueue_are_adopted_and_charged(protected: Protected, team: Team, client: Client) -> None:
    await team.ready({"spot": {"cpu": 4}})
    chosen = {"nodeSelector": {TEAM_LABEL: team.id, "shape": "spot"}}
    options: Json = {"queue": None, "annotations": {"run-for": "1h"}, "labels": {KUEUE_QUEUE: "main"}}
    await team.pod("runs", "3", spec=chosen, **options)
    gate = {"schedulingGates": [{"name": "kueue.x-k8s.io/admission"}]}
    await team.pod("waits-there", "1", spec=gate, **options)
    await team.pod("not-theirs", "1", queue=None)
    await team.until_bound("runs", "not-theirs")
    where = ("import", "kueue-pods", "-n", team.namespace)
    assert f"does not have the label {KUEUE_LABELS}=Accepted" in (await penstock(protected.sandbox, *where)).errors
    labels = {"metadata": {"labels": {KUEUE_LABELS: ACCEPTED}}}
    await client.patch(f"/api/v1/namespaces/{team.namespace}", labels, content_type=STRATEGIC_PATCH)
    dry = await penstock(protected.sandbox, *where, "--dry-run")
    target = f"{team.namespace}/runs: LocalQueue main, ClusterQueue {team.full('cq')}, flavor {team.full('spot')}"
    assert dry.output.splitlines() == [target]
    assert "waits-there: not adopted: waits at kueue.x-k8s.io/admission" in dry.errors
    refused = await penstock(protected.sandbox, *where)
    assert (refused.code, "add --as NAME --as-group penstock:break-glass" in refused.errors) == (1, True), refused
    done = await penstock(protected.sandbox, *where, *AS_BREAK_GLASS)
    assert done.output == f"Adopted 1 pod ({team.full('cq')}/{team.full('spot')} 1).\n", done
    # 3 of the 4 cpu are charged now, and the pod keeps its labels as any other of ours
    await team.pod("next", "2")
    assert "more than is free of its quota" in await team.until_waiting("next", "QuotaExceeded")
    with pytest.raises(Forbidden, match="keys-are-ours"):
        await team.patch("runs", [{"op": "remove", "path": "/metadata/labels/penstock.dev~1queue-name"}])
    await team.end("runs")
    await team.until_bound("next")


@pytest.mark.parametrize("protected", ["webhook"], indirect=True)
async def test_while_the_webhook_hangs_no_job_of_kueues_gets_by(
    protected: Protected, moving: Team, apiserver: Impersonation
) -> None:
    async with Outage(protected).there():
        refused = await apiserver.send(ALICE, "POST", jobs(moving), job("queued", BY_KUEUE))
        assert (refused.code, "kueue-owners.penstock.dev" in refused.body["message"]) == (500, True)
        made(await apiserver.send(ALICE, "POST", jobs(moving), job("other", {"app": "a"})))
