"""Samples of what pods use, asked of a real apiserver with the rights that `config/components/history` gives.

A sandbox has no metrics-server: a kind of the same group, version and form stands for what it serves.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest

from controller.history.recorder import Recorder
from controller.history.used import Used
from controller.kube import clock
from controller.kube.apply import apply
from controller.kube.client import Client
from controller.kube.clock import rfc3339
from controller.kube.errors import ApiError, Forbidden
from controller.kube.manifests import load_documents
from controller.runtime.sampling_lane import PATH, SamplingLane
from controller.sandbox.installation import CONTROLLER_ACCOUNT, NAMESPACE
from tests.integration.history.conftest import Kept
from tests.support.builders import a_cache, a_released_pod
from tests.support.eventually import eventually
from tests.support.team import Json, Team

pytestmark = pytest.mark.integration

RIGHTS = Path(__file__).resolve().parents[3] / "config" / "components" / "history" / "rbac.yaml"
ROLE = load_documents(RIGHTS)
GROUP = "metrics.k8s.io"
KIND: Json = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {
        "name": f"pods.{GROUP}",
        "annotations": {"api-approved.kubernetes.io": "unapproved, for a test"},
    },
    "spec": {
        "group": GROUP,
        "scope": "Namespaced",
        "names": {"plural": "pods", "kind": "PodMetrics"},
        "versions": [
            {
                "name": "v1beta1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                },
            }
        ],
    },
}


async def answers(client: Client) -> bool:
    try:
        return bool(await client.get(PATH))
    except ApiError:
        return False


@pytest.fixture
async def metrics(team: Team) -> AsyncIterator[None]:
    """Lets the apiserver serve PodMetrics."""
    await apply(team.client, [KIND])

    await eventually(partial(answers, team.client), message="PodMetrics are not served")
    yield
    await team.client.delete(f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/pods.{GROUP}")


@pytest.fixture
async def controller(kept: Kept) -> AsyncIterator[Client]:
    """A client that acts as the controller does."""
    sandbox = kept.cluster.sandbox
    kubeconfig = await sandbox.service_account_kubeconfig(NAMESPACE, CONTROLLER_ACCOUNT)
    async with sandbox.client(kubeconfig) as client:
        yield client


@pytest.mark.usefixtures("metrics")
async def test_the_controller_samples_with_its_rights(team: Team, controller: Client) -> None:
    with pytest.raises(Forbidden):
        await controller.get(PATH)
    await apply(team.client, ROLE)
    body = {
        "apiVersion": f"{GROUP}/v1beta1",
        "kind": "PodMetrics",
        "metadata": {"name": "a"},
        "timestamp": rfc3339(clock.now()),
        "window": "15s",
        "containers": [{"name": "main", "usage": {"cpu": "250m", "memory": "64Mi"}}],
    }
    await team.client.post(f"/apis/{GROUP}/v1beta1/namespaces/{team.namespace}/pods", body)
    cache = a_cache(a_released_pod("a", namespace=team.namespace, node="node-1", started=70))
    recorder = Recorder(cache.pods, lambda _: {})

    def sampled() -> list[Used]:
        recorder.settle()
        return [change.used for change in recorder.take(10) if change.used is not None]

    async with asyncio.TaskGroup() as group:
        lane = SamplingLane(controller, cache, recorder, seconds=0.2)

        await eventually(partial(answers, controller), message="the controller may not ask")
        running = group.create_task(lane.run(), name="samples")
        used = await eventually(sampled, message="no sample was taken")
        running.cancel()
    assert used == [Used(1, {"cpu": 250, "memory": 2**26}, {"cpu": 250, "memory": 2**26})]
