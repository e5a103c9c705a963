"""What `penstock doctor` finds of pods that are stuck or went around the gate, and of objects that cannot be used."""

from __future__ import annotations

from typing import Any

import pytest

from controller.cli.doctor_checks.default_queues import DEFAULT_QUEUES
from controller.cli.doctor_checks.objects import OBJECTS
from controller.cli.doctor_checks.pods import PODS
from controller.core.keys import DEFAULT_QUEUE, GATE, QUEUE_NAME
from controller.kube.client import MERGE_PATCH, Client
from tests.integration.doctor.conftest import Doctor
from tests.support.broken import besides
from tests.support.clusters import Cluster
from tests.support.eventually import eventually
from tests.support.team import Team

pytestmark = pytest.mark.integration

UNWATCHED = "/api/v1/namespaces/kube-system/pods"
"""Where nothing keeps the gate: pods are as people write them."""


def a_pod(name: str, labels: dict[str, str], **spec: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "labels": labels},
        "spec": {"containers": [{"name": "main", "image": "none"}], "nodeName": "nowhere", **spec},
    }


async def test_a_gated_pod_without_a_queue_is_found(doctor: Doctor, client: Client) -> None:
    document = a_pod("orphan", {}, schedulingGates=[{"name": GATE}], nodeName=None)
    async with besides(client, UNWATCHED, document):
        found = await doctor.finds(PODS)
    what = f"carry the gate {GATE} and name no queue: nothing will ever release them"
    assert found["pods in namespace kube-system (orphan)"] == what


async def test_a_pod_that_went_around_the_gate_is_found(doctor: Doctor, client: Client) -> None:
    daemon = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "d", "controller": True}
    of_daemon_set = a_pod("fine", {QUEUE_NAME: "main"})
    of_daemon_set["metadata"]["ownerReferences"] = [daemon]
    async with (
        besides(client, UNWATCHED, a_pod("around", {QUEUE_NAME: "main"})),
        besides(client, UNWATCHED, of_daemon_set),
    ):
        found = await doctor.finds(PODS, severity="Warning")
    assert [where for where in found if "kube-system" in where] == ["pods in namespace kube-system (around)"]


async def test_pods_of_a_queue_that_does_not_exist_are_found(doctor: Doctor, team: Team) -> None:
    await team.pods(5, queue="absent", prefix="lost")
    found = await doctor.finds(PODS, severity="Warning")
    where = f"pods in namespace {team.namespace} (lost-0, lost-1, lost-2 and 2 more)"
    assert found[where] == "wait for a LocalQueue that does not exist (QueueNotFound)"


async def test_a_default_queue_that_does_not_exist_is_found(doctor: Doctor, client: Client, team: Team) -> None:
    path, where = f"/api/v1/namespaces/{team.namespace}", f"Namespace {team.namespace}"
    labels = {"metadata": {"labels": {DEFAULT_QUEUE: "mian"}}}
    await client.patch(path, labels, content_type=MERGE_PATCH)
    found = await doctor.finds(DEFAULT_QUEUES)
    assert found[where].startswith("names the default queue 'mian' (penstock.dev/default-queue) and has no LocalQueue")
    await team.ready()
    labels["metadata"]["labels"][DEFAULT_QUEUE] = "main"
    await client.patch(path, labels, content_type=MERGE_PATCH)
    assert where not in await doctor.finds(DEFAULT_QUEUES)


async def test_a_release_that_admission_refuses_is_found(doctor: Doctor, team: Team) -> None:
    await team.ready(stopPolicy="Hold")
    admission, name = "/apis/admissionregistration.k8s.io/v1", team.full("refusal")
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["UPDATE"], "resources": ["pods"]}
    selector = {"matchLabels": {"kubernetes.io/metadata.name": team.namespace}}
    policy = {
        "matchConstraints": {"resourceRules": [rule], "namespaceSelector": selector},
        "validations": [{"expression": "false", "message": "not today"}],
    }
    binding = {"policyName": name, "validationActions": ["Deny"]}
    async with (
        besides(team.client, f"{admission}/validatingadmissionpolicies", {"metadata": {"name": name}, "spec": policy}),
        besides(
            team.client, f"{admission}/validatingadmissionpolicybindings", {"metadata": {"name": name}, "spec": binding}
        ),
    ):
        await team.pod("one")

        async def refused() -> bool:
            try:
                await team.patch("one", [{"op": "add", "path": "/metadata/annotations/a", "value": "b"}])
            except Exception as error:  # noqa: BLE001 - whatever the apiserver says, it must be this
                return "not today" in str(error)
            return False

        await eventually(refused, message="the policy is not in effect")
        await team.change("clusterqueues", team.full("cq"), {"stopPolicy": "None"})
        await team.until_waiting("one", "PatchRejected")
        found = await doctor.finds(PODS)
        assert "(PatchRejected)" in found[f"pods in namespace {team.namespace} (one)"]


async def test_an_object_that_cannot_be_used_is_found(doctor: Doctor, team: Team) -> None:
    await team.cluster_queue({"gone": {"cpu": 1}})
    await team.cluster_queue({"gone": {"cpu": 1}}, "stopped", stopPolicy="Hold")
    await team.local_queue("dangling", "missing")

    async def found() -> bool:
        errors = await doctor.finds(OBJECTS)
        cq = f"ClusterQueue {team.full('cq')}"
        assert {cq, f"LocalQueue {team.namespace}/dangling"} <= set(errors)
        assert errors[cq].startswith("cannot be used (FlavorNotFound): spec.flavors names ")
        return True

    await eventually(found, message="the faulty objects are not found")


async def test_a_spec_that_no_controller_has_seen_is_found(doctor: Doctor, team: Team, cluster: Cluster) -> None:
    await team.ready()

    async def active() -> bool:
        return bool((await team.status("clusterqueues", team.full("cq"))).get("conditions"))

    await eventually(active, message="the queue has no status")
    controller = cluster.programs.controller
    await controller.stop()
    try:
        await team.change("clusterqueues", team.full("cq"), {"stopPolicy": "Hold"})
        found = await doctor.finds(OBJECTS, severity="Warning")
        assert f"ClusterQueue {team.full('cq')}" in found
    finally:
        controller.start()
        await controller.wait_ready()
