"""The sandbox that other tests stand on: what it promises them is true on the real control plane."""

from __future__ import annotations

import ssl
import stat
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from controller.kube.client import MERGE_PATCH, Client
from controller.kube.errors import Forbidden
from controller.sandbox import NodeShape, Sandbox, SandboxError
from tests.support.audit import requests
from tests.support.eventually import eventually
from tests.support.kubernetes import VERSION
from tests.support.sandbox import a_pod

pytestmark = pytest.mark.integration


@pytest.fixture
async def spot(sandbox: Sandbox) -> AsyncIterator[list[str]]:
    """Two nodes of a shape, gone again after the test."""
    shape = NodeShape(
        name="spot",
        count=2,
        cpu="8",
        resources={"nvidia.com/gpu": "4"},
        labels={"tier": "spot"},
        taints=("spot=true:NoSchedule",),
    )
    yield await sandbox.add_nodes(shape)
    await sandbox.remove_nodes("spot")


def on_spot(pod: dict[str, Any]) -> dict[str, Any]:
    pod["spec"] |= {"nodeSelector": {"tier": "spot"}, "tolerations": [{"key": "spot", "operator": "Exists"}]}
    return pod


async def read(client: Client, path: str) -> Any:
    return orjson.loads(await client.get(path))


async def wait_for_phase(client: Client, path: str, phase: str) -> dict[str, Any]:
    async def has_phase() -> dict[str, Any]:
        seen: dict[str, Any] = (await read(client, path))["status"]
        assert seen["phase"] == phase, seen
        return seen

    return await eventually(has_phase, message=f"{path} is not {phase}")


async def test_the_apiserver_says_the_version_that_was_asked_for(admin: Client) -> None:
    assert (await read(admin, "/version"))["gitVersion"] == f"v{VERSION}"


async def test_nodes_have_what_their_shape_says(admin: Client, spot: list[str]) -> None:
    assert spot == ["spot-0", "spot-1"]
    node = await read(admin, "/api/v1/nodes/spot-1")
    assert node["status"]["allocatable"] == {"cpu": "8", "memory": "256Gi", "pods": "110", "nvidia.com/gpu": "4"}
    assert node["metadata"]["labels"]["tier"] == "spot"
    assert node["spec"]["taints"] == [{"key": "spot", "value": "true", "effect": "NoSchedule"}]


async def test_a_shape_is_continued_and_shrinks_from_its_end(sandbox: Sandbox, spot: list[str]) -> None:
    assert await sandbox.add_nodes(NodeShape(name="spot", count=1)) == ["spot-2"]
    assert await sandbox.remove_nodes("spot", 1) == ["spot-2"]
    with pytest.raises(SandboxError, match=r"no nodes of shape 'gpu'; there are: .*spot"):
        await sandbox.remove_nodes("gpu")


async def test_a_pod_runs_for_its_time_whatever_changes(admin: Client, namespace: str, spot: list[str]) -> None:
    pods = f"/api/v1/namespaces/{namespace}/pods"
    await admin.post(pods, on_spot(a_pod("short", run_for="5s")))
    await admin.post(pods, on_spot(a_pod("endless")))
    for name in ("short", "endless"):
        await wait_for_phase(admin, f"{pods}/{name}", "Running")
    touches = 0

    async def ends_while_it_changes() -> bool:
        nonlocal touches
        touches += 1
        change = {"metadata": {"annotations": {"touched": str(touches)}}}
        changed = orjson.loads(await admin.patch(f"{pods}/short", change, content_type=MERGE_PATCH))
        return bool(changed["status"]["phase"] == "Succeeded")

    await eventually(ends_while_it_changes, message="the pod never ends while it is changed")
    assert (await read(admin, f"{pods}/endless"))["status"]["phase"] == "Running"


@pytest.mark.parametrize(
    ("annotations", "exit_code", "reason"),
    [
        ({"run_for": "1ms", "exit_code": "3"}, 3, None),
        ({"run_for": "soon"}, 1, "InvalidAnnotation"),
        ({"run_for": "1ms", "exit_code": "bad"}, 1, "InvalidAnnotation"),
    ],
)
async def test_a_pod_fails_with_its_exit_code(
    admin: Client, namespace: str, spot: list[str], annotations: dict[str, str], exit_code: int, reason: str | None
) -> None:
    pods = f"/api/v1/namespaces/{namespace}/pods"
    await admin.post(pods, on_spot(a_pod("fails", **annotations)))
    status = await wait_for_phase(admin, f"{pods}/fails", "Failed")
    assert status["containerStatuses"][0]["state"]["terminated"]["exitCode"] == exit_code
    assert status.get("reason") == reason


async def test_a_job_completes_and_a_deleted_pod_goes(admin: Client, namespace: str, spot: list[str]) -> None:
    pod = on_spot(a_pod("any"))
    job = {
        "metadata": {"name": "job"},
        "spec": {"completions": 2, "parallelism": 2, "template": {"spec": pod["spec"]}},
    }
    path = f"/apis/batch/v1/namespaces/{namespace}/jobs"
    await admin.post(path, job)

    async def succeeded() -> bool:
        return bool((await read(admin, f"{path}/job"))["status"].get("succeeded") == 2)

    await eventually(succeeded, message="the Job does not complete")
    pods = f"/api/v1/namespaces/{namespace}/pods"
    await admin.post(pods, pod)
    await wait_for_phase(admin, f"{pods}/any", "Running")
    await admin.delete(f"{pods}/any")

    async def gone() -> bool:
        return all(item["metadata"]["name"] != "any" for item in (await read(admin, pods))["items"])

    await eventually(gone, message="the deleted pod stays")


async def test_a_service_account_kubeconfig_acts_as_that_account_only(
    sandbox: Sandbox, admin: Client, namespace: str
) -> None:
    await admin.post(f"/api/v1/namespaces/{namespace}/serviceaccounts", {"metadata": {"name": "worker"}})
    path = await sandbox.service_account_kubeconfig(namespace, "worker")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    async with sandbox.client(path) as worker:
        answer = orjson.loads(await worker.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", review))
        assert answer["status"]["userInfo"]["username"] == f"system:serviceaccount:{namespace}:worker"
        with pytest.raises(Forbidden):
            await worker.get("/api/v1/nodes")


async def test_the_audit_log_tells_of_others_writes_to_pods_only(
    sandbox: Sandbox, admin: Client, namespace: str
) -> None:
    pods = f"/api/v1/namespaces/{namespace}/pods"
    gated = a_pod("gated")
    gated["spec"]["schedulingGates"] = [{"name": "example.com/wait"}]
    await admin.post(pods, gated)
    for number in range(3):
        change = {"metadata": {"annotations": {"n": str(number)}}}
        await admin.patch(f"{pods}/gated", change, content_type=MERGE_PATCH)
    await admin.get(f"{pods}/gated")
    await admin.post(f"/api/v1/namespaces/{namespace}/configmaps", {"metadata": {"name": "no-pod"}})
    noted = requests(sandbox, namespace=namespace)
    # the scheduler writes the gated pod's condition too, to the status subresource
    assert [one["verb"] for one in noted if "subresource" not in one["objectRef"]] == ["create", *["patch"] * 3]
    assert {one["objectRef"]["resource"] for one in noted} == {"pods"}


async def test_the_sandbox_authority_trusts_a_serving_certificate(sandbox: Sandbox, tmp_path: Path) -> None:
    pair = sandbox.serving_certificate(["hook.test"], ["127.0.0.1"])
    (tmp_path / "pair.pem").write_bytes(pair.certificate_pem + pair.key_pem)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(tmp_path / "pair.pem")
    client = ssl.create_default_context(cadata=sandbox.ca_pem.decode())
    assert handshake(server, client, "127.0.0.1") == handshake(server, client, "hook.test") == "done"
    assert "certificate verify failed" in handshake(server, client, "other.test")


def handshake(server: ssl.SSLContext, client: ssl.SSLContext, host: str) -> str:
    """Do a TLS handshake in memory; `done`, or what the client objects to."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    serving = server.wrap_bio(to_server, to_client, server_side=True)
    asking = client.wrap_bio(to_client, to_server, server_hostname=host)
    try:
        for _ in range(3):
            for side in (asking, serving):
                try:
                    side.do_handshake()
                except ssl.SSLWantReadError:
                    continue
    except ssl.SSLError as error:
        return str(error)
    return "done"
