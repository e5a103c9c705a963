"""Pods of operators' objects wait in a queue as any pods do, where the templates name it: alone or as a gang."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from controller.core.keys import POD_GROUP, POD_GROUP_SIZE, QUEUE_NAME
from controller.kube.client import Client
from controller.sandbox import Sandbox
from controller.sandbox.installation import installed
from tests.integration.operators.operated import Json, Operated, a_template
from tests.support.clusters import Cluster
from tests.support.eventually import eventually
from tests.support.team import Team, condition_of, is_gated

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def cluster(sandbox: Sandbox) -> Iterator[Cluster]:
    """Penstock in the folder's control plane, for as long as the tests of this file run."""
    with asyncio.Runner() as runner:
        context = installed(sandbox)
        programs = runner.run(context.__aenter__())
        try:
            yield Cluster(sandbox, programs)
        finally:
            runner.run(context.__aexit__(None, None, None))


def queued(name: str) -> Json:
    """A template of a gang of three in the queue."""
    template = a_template(name)
    template["metadata"]["labels"] |= {QUEUE_NAME: "main", POD_GROUP: "three"}
    template["metadata"]["annotations"] |= {POD_GROUP_SIZE: "3"}
    return template


def of_ray() -> Json:
    worker = {"groupName": "main", "replicas": 2, "minReplicas": 2, "maxReplicas": 2, "rayStartParams": {}}
    return {
        "rayVersion": "2.46.0",
        "headGroupSpec": {"rayStartParams": {}, "template": queued("head")},
        "workerGroupSpecs": [{**worker, "template": queued("worker")}],
    }


def of_training(field: str, first: str, name: str) -> Json:
    roles = {first: 1, "Worker": 2}
    return {field: {role: {"replicas": count, "template": queued(name)} for role, count in roles.items()}}


@pytest.mark.parametrize(
    ("kind", "spec", "pods"),
    [
        ("RayCluster", of_ray(), ["head", "worker", "worker"]),
        ("PyTorchJob", of_training("pytorchReplicaSpecs", "Master", "pytorch"), ["pytorch"] * 3),
        ("MPIJob", of_training("mpiReplicaSpecs", "Launcher", "mpi"), ["mpi"] * 3),
    ],
    ids=["ray", "pytorch", "mpi"],
)
async def test_pods_of_an_operator_wait_and_go_as_a_gang(
    team: Team, client: Client, kind: str, spec: Json, pods: list[str]
) -> None:
    await team.nodes("spot", cpu="8", memory="32Gi", resources={"ephemeral-storage": "100Gi"})
    await team.flavor("spot")
    await team.cluster_queue({"spot": {"cpu": 3, "memory": "8Gi", "ephemeral-storage": "10Gi"}})
    await team.local_queue()
    await team.pod("before")
    await team.until_bound("before")
    operated = Operated(team.sandbox, client, team.namespace)
    await operated.make(kind, "three", spec)

    async def all_wait() -> bool:
        gang = [pod for name, pod in (await team.all()).items() if name != "before"]
        told = [(is_gated(pod), (condition_of(pod) or {}).get("reason")) for pod in gang]
        assert told == [(True, "QuotaExceeded")] * 3
        return True

    await eventually(all_wait, message="the gang does not wait")
    await team.delete("before")
    await operated.until_pods_run(*pods)
