"""What `penstock doctor` finds of the gate and of who opens it, while one or the other is missing."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator

import pytest

from controller.cli.doctor_checks.gate import GATE_KEPT
from controller.cli.doctor_checks.leader import LEADER
from controller.cli.doctor_checks.pods import PODS
from controller.kube.client import MERGE_PATCH, Client
from controller.sandbox.installation import Gate
from tests.integration.doctor.conftest import Doctor
from tests.support.broken import without
from tests.support.clusters import Cluster, a_cluster
from tests.support.command import penstock
from tests.support.eventually import eventually
from tests.support.leaders import LEASE, delete_lease
from tests.support.team import Team

pytestmark = pytest.mark.integration

ADMISSION = "/apis/admissionregistration.k8s.io/v1"
MUTATING = f"{ADMISSION}/mutatingwebhookconfigurations/penstock"
VALIDATING = f"{ADMISSION}/validatingwebhookconfigurations/penstock"
NEW_POD = "a new pod in namespace default"


async def until_found(doctor: Doctor, *expected: tuple[str, str]) -> None:
    """Wait until just these errors of the gate are found, (where, how the text begins)."""

    async def found() -> bool:
        errors = await doctor.finds(GATE_KEPT)
        assert list(errors) == [where for where, _ in expected], errors
        return all(errors[where].startswith(what) for where, what in expected)

    await eventually(found, message="the doctor does not find it")


async def test_a_gate_that_nothing_adds_is_found(doctor: Doctor, client: Client) -> None:
    async with without(client, MUTATING):
        missing = "does not exist; the others keep the gate only together with it"
        refused = "names a queue, gets no gate, and is refused for that"
        await until_found(doctor, ("MutatingWebhookConfiguration penstock", missing), (NEW_POD, refused))
    await until_found(doctor)


async def test_a_gate_that_nothing_protects_is_found(doctor: Doctor, client: Client) -> None:
    async with without(client, VALIDATING):
        missing = "does not exist; the others keep the gate only together with it"
        open_to_all = "may carry the gate penstock.dev/queue without naming a queue"
        await until_found(doctor, ("ValidatingWebhookConfiguration penstock", missing), (NEW_POD, open_to_all))
    await until_found(doctor)


async def test_a_cluster_without_a_gate_is_found(doctor: Doctor, client: Client) -> None:
    async with without(client, MUTATING, VALIDATING):
        await until_found(doctor, ("the gate", "is kept by nothing: "))
    await until_found(doctor)


async def test_a_webhook_that_does_not_answer_is_found(doctor: Doctor, cluster: Cluster) -> None:
    webhook = cluster.programs.webhook
    webhook.process.send_signal(signal.SIGSTOP)
    try:
        await until_found(doctor, (NEW_POD, "is refused, since a webhook does not answer: "))
    finally:
        webhook.process.send_signal(signal.SIGCONT)
    await until_found(doctor)


async def test_controllers_that_are_gone_are_found(
    doctor: Doctor, cluster: Cluster, client: Client, team: Team
) -> None:
    await team.ready(stopPolicy="Hold")
    await team.pod("one")
    controller = cluster.programs.controller
    where = "Lease penstock-system/penstock-controller"
    try:
        controller.kill()
        # nobody renews it any more: so it is told without waiting until it ends
        past = {"spec": {"renewTime": "2026-01-01T00:00:00.000000Z"}}
        await client.patch(LEASE, past, content_type=MERGE_PATCH)
        pods, leader = await asyncio.gather(doctor.finds(PODS), doctor.finds(LEADER))
        assert leader[where].startswith("was renewed last at 2026-01-01T00:00:00")
        what = "wait at the gate, and no controller leads that would release them"
        assert pods[f"pods in namespace {team.namespace} (one)"] == what
        await delete_lease(client)
        assert (await doctor.finds(LEADER))[where].startswith("does not exist")
        done = await penstock(cluster.sandbox, "doctor", "-o", "yaml")
        assert (done.code, "check: leader" in done.output) == (1, True)
    finally:
        controller.start()
        await controller.wait_ready()
    assert await doctor.finds(LEADER) == {}
    assert f"pods in namespace {team.namespace} (one)" not in await doctor.finds(PODS)


async def test_a_lease_that_was_given_up_is_found(doctor: Doctor, cluster: Cluster) -> None:
    controller = cluster.programs.controller
    try:
        await controller.stop()
        (what,) = (await doctor.finds(LEADER)).values()
        assert what.startswith("has no holder")
    finally:
        controller.start()
        await controller.wait_ready()


@pytest.fixture(scope="module")
def by_policies() -> Iterator[Cluster]:
    """A cluster whose gate admission policies keep."""
    with a_cluster(gate=Gate.POLICIES) as cluster:
        yield cluster


async def test_an_admission_policy_that_is_missing_is_found(by_policies: Cluster) -> None:
    async with by_policies.sandbox.client() as client:
        doctor = Doctor(client)
        assert await doctor.finds(GATE_KEPT) == {}
        path = f"{ADMISSION}/mutatingadmissionpolicybindings/penstock-gate"
        async with without(client, path):
            missing = "does not exist; the others keep the gate only together with it"
            refused = "names a queue, gets no gate, and is refused for that"
            await until_found(doctor, ("MutatingAdmissionPolicyBinding penstock-gate", missing), (NEW_POD, refused))
        await until_found(doctor)
