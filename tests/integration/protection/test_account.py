"""The controller's account is held to what the controller does, whatever its roles allow, whoever keeps the gate."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from controller.core.keys import (
    ADMITTED_AT,
    ADMITTED_BY,
    CLUSTER_QUEUE,
    CONDITION,
    GATE,
    PRIORITY_CLASS,
    QUEUE_NAME,
    RELEASE_ATTEMPT,
    REVOKED_BY,
)
from controller.kube.client import Client
from tests.integration.protection.conftest import Protected
from tests.integration.protection.job_field import JobField
from tests.integration.protection.job_table import JobStart, UpdateJob
from tests.integration.protection.people import DRY, IDENTITIES, Field, a_binding, a_pod
from tests.integration.protection.table import OPENED, Start, Update, Who
from tests.support.eventually import eventually
from tests.support.impersonation import Impersonation, Reply
from tests.support.leaders import until_leads

pytestmark = pytest.mark.integration

Json = dict[str, Any]
SOMEBODY: Json = {"metadata": {"labels": {"app": "x"}}}
IMAGE: Json = {"spec": {"containers": [{"name": "main", "image": "evil"}]}}
BIGGER: Json = {"name": "main", "image": "none", "resources": {"requests": {"cpu": "2"}}}
NARROWED: Json = {"nodeSelector": {"table": "nowhere", "pool": "a"}, "activeDeadlineSeconds": 60}
OURS: Json = {"conditions": [{"type": CONDITION, "status": "False", "reason": "NoQuota", "message": "x"}]}
READY: Json = {"conditions": [{"type": "Ready", "status": "True"}]}


def spec(**fields: object) -> Json:
    return {"spec": fields}


@pytest.fixture
async def leader(protected: Protected, client: Client) -> AsyncIterator[str]:
    """The account may do everything that RBAC can allow, so that nothing but the policy refuses; who leads."""
    path = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
    subject = {"kind": "ServiceAccount", "name": "penstock-controller", "namespace": "penstock-system"}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}
    await client.post(path, {"metadata": {"name": "too-much"}, "roleRef": role, "subjects": [subject]})
    try:
        yield await until_leads(client, "sandbox")
    finally:
        await client.delete(f"{path}/too-much")


async def sent(apiserver: Impersonation, method: str, path: str, body: Json) -> Reply:
    """A request of the account, as a dry run, once RBAC knows what it may do."""

    async def allowed() -> Reply | None:
        reply = await apiserver.send(IDENTITIES[Who.CONTROLLER], method, path, body, params=DRY)
        return None if "is forbidden: User" in reply.body.get("message", "") else reply

    reply = await eventually(allowed, message="the account has no rights")
    assert reply is not None
    return reply


def refusal(reply: Reply) -> str:
    """Why the policy refused; empty: it did not."""
    if reply.code == 403:
        return str(reply.body["message"]).partition("denied request: ")[2]
    assert reply.code < 300, reply.body
    return ""


async def test_the_account_releases_and_marks_pods_of_queues(field: Field, leader: str) -> None:
    stamps = {"labels": {CLUSTER_QUEUE: "a"}, "annotations": {ADMITTED_AT: "x", ADMITTED_BY: leader}}
    released = {"metadata": stamps, "spec": {**OPENED["spec"], **NARROWED}}
    revoked = {"metadata": {"annotations": {RELEASE_ATTEMPT: "1", REVOKED_BY: leader}}}
    for start, patch, part in (
        (Start.QUEUED, released, ""),
        (Start.QUEUED, revoked, ""),
        (Start.RELEASED, revoked, ""),
        (Start.QUEUED, {"status": OURS}, "status"),
    ):
        assert refusal(await field.send(Who.CONTROLLER, Update(start, patch, part))) == ""


@pytest.mark.parametrize(
    ("start", "patch", "part", "why"),
    [
        (Start.FOREIGN, {"metadata": {"annotations": {ADMITTED_AT: "x"}}}, "", "queues-only: metadata.labels"),
        (Start.FOREIGN, {"spec": {"schedulingGates": None}}, "", "queues-only: metadata.labels"),
        (Start.FOREIGN, {"status": OURS}, "status", "queues-only: metadata.labels"),
        (Start.QUEUED, {"metadata": {"labels": {QUEUE_NAME: "other"}}}, "", "queues-only: metadata.labels"),
        (Start.QUEUED, {"metadata": {"labels": {QUEUE_NAME: None}}}, "", "queues-only: metadata.labels"),
        (Start.QUEUED, SOMEBODY, "", "own-changes-only: metadata.labels[app]: "),
        (Start.QUEUED, SOMEBODY, "status", "own-changes-only: metadata.labels[app]: "),
        (Start.QUEUED, {"metadata": {"annotations": {"x": "y"}}}, "", "own-changes-only: metadata.annotations[x]: "),
        (Start.QUEUED, {"metadata": {"finalizers": ["a.b/c"]}}, "", "own-changes-only: metadata.finalizers: "),
        (Start.DELETING, {"metadata": {"finalizers": None}}, "", "own-changes-only: metadata.finalizers: "),
        (Start.QUEUED, IMAGE, "", "own-changes-only: spec.containers: "),
        (Start.RELEASED, IMAGE, "", "own-changes-only: spec.containers: "),
        (Start.QUEUED, {"spec": {**OPENED["spec"], **IMAGE["spec"]}}, "", "own-changes-only: spec.containers: "),
        (Start.QUEUED, {"spec": NARROWED}, "", "own-changes-only: spec."),
        (Start.RELEASED, spec(activeDeadlineSeconds=60), "", "own-changes-only: spec.activeDeadlineSeconds: "),
        (Start.QUEUED, {"status": READY}, "status", "own-changes-only: status.conditions: "),
        (Start.RELEASED, {"status": {"phase": "Failed"}}, "status", "own-changes-only: status.phase: "),
    ],
)
async def test_the_account_changes_nothing_else_of_pods(
    field: Field, leader: str, start: Start, patch: Json, part: str, why: str
) -> None:
    assert leader
    assert refusal(await field.send(Who.CONTROLLER, Update(start, patch, part))).startswith(why)


async def test_the_gates_of_others_stay(client: Client, apiserver: Impersonation, leader: str, namespace: str) -> None:
    pods = f"/api/v1/namespaces/{namespace}/pods"
    gates = {"schedulingGates": [{"name": "example.com/wait"}, {"name": GATE}]}
    await client.post(pods, a_pod("two", {"labels": {QUEUE_NAME: "main"}}, gates))

    async def opened(*left: str) -> str:
        body = {"spec": {"schedulingGates": [{"name": one} for one in left] or None}}
        who, kind = IDENTITIES[Who.CONTROLLER], "application/merge-patch+json"
        return refusal(await apiserver.send(who, "PATCH", f"{pods}/two", body, content_type=kind, params=DRY))

    assert leader
    assert await opened("example.com/wait") == ""
    for left in ((), (GATE,)):
        assert (await opened(*left)).startswith("own-changes-only: spec.schedulingGates: ")


@pytest.mark.parametrize(
    ("start", "patch"),
    [
        (JobStart.WAITING, spec(suspend=False, template={"spec": {"nodeSelector": {"pool": "a"}}})),
        (JobStart.WAITING, spec(template={"metadata": {"labels": {CLUSTER_QUEUE: "a"}}})),
        (JobStart.ADMITTED, spec(suspend=True)),
        (JobStart.ADMITTED, spec(parallelism=3)),
    ],
)
async def test_the_account_releases_and_suspends_jobs_of_queues(
    protected: Protected, apiserver: Impersonation, leader: str, start: JobStart, patch: Json
) -> None:
    jobs = JobField(apiserver, protected.namespaces, leader)
    signed = {**patch, "metadata": {"annotations": {ADMITTED_BY: "LEADER"}}}
    assert refusal(await jobs.send(Who.CONTROLLER, UpdateJob(start, signed))) == ""


@pytest.mark.parametrize(
    ("start", "patch", "part", "why"),
    [
        (JobStart.OUTSIDE, spec(suspend=False), "", "queues-only: metadata.labels"),
        (JobStart.OUTSIDE, {"status": OURS}, "status", "queues-only: metadata.labels"),
        (JobStart.WAITING, {"metadata": {"labels": {QUEUE_NAME: None}}}, "", "queues-only: metadata.labels"),
        (JobStart.WAITING, SOMEBODY, "", "own-changes-only: metadata.labels[app]: "),
        (JobStart.WAITING, spec(backoffLimit=1), "", "own-changes-only: spec.backoffLimit: "),
        (JobStart.WAITING, spec(template=SOMEBODY), "", "own-changes-only: spec.template.metadata.labels[app]: "),
        (
            JobStart.WAITING,
            spec(template=spec(containers=[BIGGER])),
            "",
            "own-changes-only: spec.template.spec.containers: ",
        ),
        (JobStart.ADMITTED, {"status": {"failed": 5}}, "status", "own-changes-only: status.failed: "),
    ],
)
async def test_the_account_changes_nothing_else_of_jobs(
    protected: Protected, apiserver: Impersonation, leader: str, start: JobStart, patch: Json, part: str, why: str
) -> None:
    jobs = JobField(apiserver, protected.namespaces, leader)
    assert refusal(await jobs.send(Who.CONTROLLER, UpdateJob(start, patch, part))).startswith(why)


async def test_the_account_makes_deletes_and_binds_nothing(
    client: Client, apiserver: Impersonation, leader: str, namespace: str
) -> None:
    pods, jobs = f"/api/v1/namespaces/{namespace}/pods", f"/apis/batch/v1/namespaces/{namespace}/jobs"
    await client.post(pods, a_pod("one", {"labels": {QUEUE_NAME: "main"}}, {}))
    job = {"metadata": {"name": "new"}, "spec": {"template": {"spec": a_pod("x", {}, {})["spec"]}}}
    assert leader
    for method, path, body, what in (
        ("POST", pods, a_pod("new", {}, {}), "CREATE pods"),
        ("POST", jobs, job, "CREATE jobs"),
        ("DELETE", f"{pods}/one", {}, "DELETE pods"),
        ("DELETE", pods, {}, "DELETE pods"),
        ("POST", f"{pods}/one/binding", a_binding("one", {}), "CREATE pods/binding"),
        ("POST", pods.replace("/pods", "/bindings"), a_binding("one", {}), "CREATE bindings"),
    ):
        assert refusal(await sent(apiserver, method, path, body)).startswith(f"queues-only: {what}: "), what


async def test_the_account_evicts_no_pods_of_the_system(
    client: Client, apiserver: Impersonation, leader: str, namespace: str
) -> None:
    assert leader
    for where in (namespace, "kube-system"):
        pods = f"/api/v1/namespaces/{where}/pods"
        pod = a_pod("one", {}, {})
        pod["spec"]["automountServiceAccountToken"] = False
        await client.post(pods, pod)

    async def evicted(where: str) -> str:
        path = f"/api/v1/namespaces/{where}/pods/one/eviction"
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "one", "namespace": where}}
        return refusal(await sent(apiserver, "POST", path, body))

    try:
        assert await evicted(namespace) == ""
        assert (await evicted("kube-system")).startswith(
            "queues-only: metadata.namespace: is 'kube-system', whose pods"
        )
    finally:
        await client.delete("/api/v1/namespaces/kube-system/pods/one", {"gracePeriodSeconds": 0})


async def test_nobody_else_is_held_to_that(field: Field, leader: str) -> None:
    assert leader
    for patch in (SOMEBODY, IMAGE, {"metadata": {"labels": {PRIORITY_CLASS: "x"}}}):
        assert refusal(await field.send(Who.EDITOR, Update(Start.QUEUED, patch))) == ""
