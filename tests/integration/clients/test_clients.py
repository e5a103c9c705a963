"""The samples of config/samples/clients, each up to bound pods: what clients set is kept, and Penstock admits them."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from controller.core.keys import ADMITTED_BY, QUEUE_NAME
from controller.kube.apply import apply
from controller.kube.manifests import load_documents
from tests.support.clusters import Cluster
from tests.support.eventually import eventually
from tests.support.team import Team, flavor_of

pytestmark = pytest.mark.integration

CLIENTS = Path(__file__).resolve().parents[3] / "config" / "samples" / "clients"
PODS = {
    "airflow_pod.yaml": (1, 1),
    "argo_pod.yaml": (1, 1),
    "dask_cluster.yaml": (2, 3),
    "leader_worker_set.yaml": (4, 4),
}
"""How many pods of a queue each makes, and how many in all."""


def in_namespace(file: Path, namespace: str) -> list[dict[str, Any]]:
    """The objects of a file, in another namespace than it says."""
    documents = load_documents(file)
    for one in documents:
        assert one["metadata"]["namespace"] == "team-a", "that of spot_first.yaml"
        one["metadata"]["namespace"] = namespace
    return documents


def test_every_sample_is_run_here() -> None:
    assert {file.name for file in CLIENTS.iterdir()} == {*PODS, "submit_job.py"}


@pytest.mark.parametrize("name", PODS)
async def test_pods_of_other_projects_are_admitted(team: Team, name: str) -> None:
    await team.ready({"spot": {"cpu": 8, "memory": "32Gi"}})
    queued, count = PODS[name]
    documents = in_namespace(CLIENTS / name, team.namespace)
    await apply(team.client, documents)

    async def bound() -> list[dict[str, Any]]:
        pods = list((await team.all()).values())
        assert (len(pods), [one for one in pods if not one["spec"].get("nodeName")]) == (count, [])
        return pods

    pods = await eventually(bound, seconds=60, message="pods did not reach a node")
    ours = [one for one in pods if QUEUE_NAME in one["metadata"]["labels"]]
    assert len(ours) == queued
    for pod in ours:
        assert pod["metadata"]["annotations"][ADMITTED_BY]
        assert flavor_of(pod) == team.full("spot")
    for written in (one for one in documents if one["kind"] == "Pod"):
        (pod,) = pods
        assert written["metadata"]["labels"].items() <= pod["metadata"]["labels"].items()
        assert [one["name"] for one in pod["spec"]["containers"]] == [
            one["name"] for one in written["spec"]["containers"]
        ]
        owners = [one["kind"] for one in pod["metadata"].get("ownerReferences", ())]
        assert owners == [one["kind"] for one in written["metadata"].get("ownerReferences", ())]


async def test_leader_and_workers_wait_for_each_other(team: Team) -> None:
    await team.ready({"spot": {"cpu": 8, "memory": "32Gi"}})
    leaders, workers = in_namespace(CLIENTS / "leader_worker_set.yaml", team.namespace)
    await apply(team.client, [leaders])
    await eventually(lambda: team.exists(f"{team.pods_path}/serve-0"), message="there is no leader")
    await team.until_waiting("serve-0", "GangIncomplete")
    await apply(team.client, [workers])
    await team.until_bound("serve-0", *(f"serve-0-{number}" for number in (1, 2, 3)))


async def test_a_job_of_the_kubernetes_client_is_admitted(cluster: Cluster, team: Team) -> None:
    await team.ready({"spot": {"cpu": 1, "memory": "1Gi"}})
    await team.pod("before", "1")
    await team.until_bound("before")
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        str(CLIENTS / "submit_job.py"),
        "--namespace",
        team.namespace,
        env={**os.environ, "KUBECONFIG": str(cluster.sandbox.kubeconfig)},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert child.stdout is not None
    told = ""
    while "QuotaExceeded" not in told:
        async with asyncio.timeout(60):
            line = (await child.stdout.readline()).decode()
        assert line, told
        told += line
    await team.end("before")
    async with asyncio.timeout(60):
        out, errors = await child.communicate()
    assert (child.returncode, errors) == (0, b"")
    assert out.decode().splitlines()[-1].endswith("Succeeded")
