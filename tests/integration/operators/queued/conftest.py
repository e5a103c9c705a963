"""A control plane with both operators and Penstock in it, with the kinds of theirs that are held as a whole."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from functools import partial

import pytest

from controller.api.parse import parse_workload_kind
from controller.core.keys import CLUSTER_QUEUE
from controller.core.workload_kinds.policies import documents_of
from controller.kube.apply import apply
from controller.kube.client import Client
from controller.kube.errors import Forbidden
from controller.kube.manifests import load_documents
from controller.objects.workload_kinds import to_workload_kind
from controller.sandbox import Sandbox
from controller.sandbox.installation import Gate
from controller.sandbox.operators import NAMES
from controller.sandbox.shipped import manifests
from tests.integration.operators.operated import Operated
from tests.integration.operators.queued.objects import QUEUED, a_cluster, a_ray_job, a_training, is_suspended
from tests.support import clusters
from tests.support.clusters import Cluster
from tests.support.eventually import eventually
from tests.support.team import Team

ACCOUNTS = (("ray-system", "kuberay-operator"), ("kubeflow", "training-operator"))


@pytest.fixture(scope="package")
def cluster() -> Iterator[Cluster]:
    """The folder's cluster."""
    with clusters.a_cluster(gate=Gate.POLICIES, launch={"operators": NAMES}) as cluster:
        asyncio.run(enabled(cluster.sandbox))
        yield cluster


async def enabled(sandbox: Sandbox) -> None:
    """Apply what docs/workload-kinds.md has administrators apply."""
    groups = ("ray.io/v1", "kubeflow.org/v1")
    kinds = [
        one
        for one in load_documents(manifests("kinds"))
        if f"{one['spec']['group']}/{one['spec']['version']}" in groups
    ]
    documents = [part for one in kinds for part in (one, *documents_of(to_workload_kind(parse_workload_kind(one))))]
    bindings = [
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": f"{name}-admits-pods"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "penstock-admits-pods"},
            "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": namespace}],
        }
        for namespace, name in ACCOUNTS
    ]
    async with sandbox.client() as client:
        await apply(client, [*documents, *bindings])
        probes = Operated(sandbox, client, "default")
        await eventually(partial(are_in_effect, probes), message="the policies of the kinds are not in effect")


async def are_in_effect(probes: Operated) -> bool:
    """Whether the apiserver heeds the policies that suspend, and that refuse; it learns of each at another time."""
    dry = {"dryRun": "All"}
    for kind, spec in (("RayCluster", a_cluster()), ("RayJob", a_ray_job()), ("PyTorchJob", a_training())):
        is_held = is_refused = False
        with suppress(Forbidden):
            is_held = is_suspended(kind, await probes.make(kind, "probe", spec, params=dry, labels=QUEUED))
        try:
            await probes.make(kind, "probe", spec, params=dry, labels={CLUSTER_QUEUE: "made-up"})
        except Forbidden:
            is_refused = True
        if not (is_held and is_refused):
            return False
    return True


@pytest.fixture
def queued(cluster: Cluster, client: Client, team: Team) -> Operated:
    """Objects of the operators in the team's namespace."""
    return Operated(cluster.sandbox, client, team.namespace)
