"""Controllers whose way to the apiserver a test can disturb, on a control plane with Penstock in either gate mode."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from controller.kube.client import Client
from controller.sandbox.installation import CONTROLLER_ACCOUNT, NAMESPACE, Gate
from tests.faults.leaders.rivals import Rivals
from tests.support.apiserver_proxy import ApiserverProxy
from tests.support.clusters import Cluster, a_cluster_without_leader
from tests.support.team import Team

WAYS = [Gate.WEBHOOK, pytest.param(Gate.POLICIES, marks=pytest.mark.more)]


@pytest.fixture(scope="package", params=WAYS, ids=["webhook", "in-apiserver"])
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """A control plane with Penstock in it, the gate kept in one way; its controller stands still for those of tests."""
    with a_cluster_without_leader(gate=request.param) as cluster:
        yield cluster


@pytest.fixture
async def client(cluster: Cluster) -> AsyncIterator[Client]:
    """A client with all rights."""
    async with cluster.sandbox.client() as client:
        yield client


@pytest.fixture
async def team(cluster: Cluster, client: Client) -> AsyncIterator[Team]:
    """A team with a queue of one cpu, which is closed: what waits in it comes in when the test opens it."""
    team = Team(client, cluster.sandbox)
    await team.open()
    await team.ready({"spot": {"cpu": 1}}, stopPolicy="Hold")
    yield team
    await team.close()


@pytest.fixture
async def proxy(cluster: Cluster) -> AsyncIterator[ApiserverProxy]:
    """The way to the apiserver of the controller that the test disturbs."""
    original = await cluster.sandbox.service_account_kubeconfig(NAMESPACE, CONTROLLER_ACCOUNT)
    async with ApiserverProxy(original).serving() as proxy:
        yield proxy


@pytest.fixture
async def rivals(cluster: Cluster, client: Client, proxy: ApiserverProxy, tmp_path: Path) -> AsyncIterator[Rivals]:
    """Controllers of the test's own."""
    rivals = Rivals(client, tmp_path, proxy.kubeconfig(tmp_path), cluster.sandbox.folder / "kubeconfigs")
    try:
        yield rivals
    finally:
        await rivals.end()
