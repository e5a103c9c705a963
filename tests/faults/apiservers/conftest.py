"""Two apiservers on one etcd: that of the sandbox, and one that a test kills, or lets lag behind."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from controller.kube.client import Client
from controller.sandbox.installation import CONTROLLER_ACCOUNT, NAMESPACE, Gate
from controller.sandbox.layout import Layout
from tests.faults.leaders.rivals import Rivals
from tests.support.apiserver_proxy import ApiserverProxy
from tests.support.apiservers import Apiserver, another_apiserver, etcd_of
from tests.support.clusters import Cluster, a_cluster_without_leader
from tests.support.etcd_proxy import EtcdProxy
from tests.support.eventually import eventually
from tests.support.team import Team

WAYS = [Gate.POLICIES, pytest.param(Gate.WEBHOOK, marks=pytest.mark.more)]


@dataclass(frozen=True, slots=True)
class Second:
    """The apiserver beside the sandbox's own."""

    apiserver: Apiserver
    etcd: EtcdProxy
    admin: Path
    controller: Path
    """Kubeconfigs that lead to it."""


@pytest.fixture(scope="package", params=WAYS, ids=["in-apiserver", "webhook"])
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """A control plane with Penstock in it; its controller stands still for those of tests."""
    with a_cluster_without_leader(gate=request.param) as cluster:
        yield cluster


@pytest.fixture
async def second(cluster: Cluster) -> AsyncIterator[Second]:
    """A second apiserver, new for each test, which finds etcd by a way that a test disturbs."""
    sandbox = cluster.sandbox
    controller = await sandbox.service_account_kubeconfig(NAMESPACE, CONTROLLER_ACCOUNT)
    async with (
        EtcdProxy(Layout(sandbox.folder), etcd_of(sandbox)).serving() as etcd,
        another_apiserver(sandbox, "second", etcd=etcd.url) as apiserver,
    ):
        yield Second(apiserver, etcd, apiserver.kubeconfig(sandbox.kubeconfig), apiserver.kubeconfig(controller))


@pytest.fixture
async def client(cluster: Cluster) -> AsyncIterator[Client]:
    """A client with all rights, at the sandbox's own apiserver."""
    async with cluster.sandbox.client() as client:
        yield client


@pytest.fixture
async def at_second(cluster: Cluster, second: Second) -> AsyncIterator[Client]:
    """A client with all rights, at the second apiserver."""
    async with cluster.sandbox.client(second.admin) as client:
        yield client


@pytest.fixture
async def corner(cluster: Cluster, client: Client) -> AsyncIterator[Team]:
    """A team with a namespace and nothing else."""
    team = Team(client, cluster.sandbox)
    await team.open()
    # else it comes to the ConfigMaps at a time that no test expects
    authority = f"/api/v1/namespaces/{team.namespace}/configmaps/kube-root-ca.crt"
    await eventually(lambda: team.exists(authority), message="the namespace has no ConfigMap of the authority")
    yield team
    await team.close()


@pytest.fixture
async def team(corner: Team) -> Team:
    """A team with a queue of one cpu, which is closed: what waits in it comes in when the test opens it."""
    await corner.ready({"spot": {"cpu": 1}}, stopPolicy="Hold")
    return corner


@pytest.fixture
async def proxy(second: Second) -> AsyncIterator[ApiserverProxy]:
    """The way to the second apiserver, on which a test holds requests."""
    async with ApiserverProxy(second.controller).serving() as proxy:
        yield proxy


@pytest.fixture
async def own(cluster: Cluster) -> AsyncIterator[ApiserverProxy]:
    """The way to the sandbox's own apiserver, on which a test holds requests."""
    controller = await cluster.sandbox.service_account_kubeconfig(NAMESPACE, CONTROLLER_ACCOUNT)
    async with ApiserverProxy(controller).serving() as proxy:
        yield proxy


@pytest.fixture
async def rivals(
    cluster: Cluster, client: Client, own: ApiserverProxy, proxy: ApiserverProxy, tmp_path: Path
) -> AsyncIterator[Rivals]:
    """Controllers of the test's own, at the sandbox's apiserver; disturbed ones are at the second.

    They end before `own`, through which a test may lead one.
    """
    rivals = Rivals(client, tmp_path, proxy.kubeconfig(tmp_path), cluster.sandbox.folder / "kubeconfigs")
    try:
        yield rivals
    finally:
        await rivals.end()
