"""A control plane of several nodes in the middle of an upgrade: apiservers of two versions of Kubernetes on one etcd.

The sandbox's own is the older one; kube-scheduler and kube-controller-manager are of its version and at it, since they
must not be newer than any apiserver. Penstock's controller is at one, and users are at the other.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from controller.kube.client import Client
from controller.sandbox.admission_policies import into_effect
from controller.sandbox.installation import CONTROLLER_ACCOUNT, NAMESPACE, Gate, controller_program
from controller.sandbox.versions import VERSIONS
from tests.integration.jobs.held import HeldJobs
from tests.support.apiservers import Apiserver, another_apiserver
from tests.support.clusters import Cluster, a_cluster
from tests.support.leaders import until_leads
from tests.support.team import Team

NEWER, OLDER = VERSIONS


@dataclass(frozen=True, slots=True)
class Skewed:
    """Two apiservers, as kubeconfigs of an administrator, and at which of them the controller is."""

    cluster: Cluster
    older: Path
    newer: Path
    users: Path
    """Of the one at which the controller is not."""


@pytest.fixture(scope="package", params=list(Gate), ids=lambda gate: gate.value.lower())
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """Penstock on a control plane of the older version."""
    with a_cluster(launch={"kubernetes": OLDER}, gate=request.param) as cluster:
        yield cluster


@pytest.fixture(scope="package")
def newer(cluster: Cluster) -> Iterator[Apiserver]:
    """The first apiserver that was upgraded."""
    with asyncio.Runner() as runner:
        context = another_apiserver(cluster.sandbox, "newer", kubernetes=NEWER)
        apiserver = runner.run(context.__aenter__())
        try:
            runner.run(_until_gated(cluster, apiserver))
            yield apiserver
        finally:
            runner.run(context.__aexit__(None, None, None))


@pytest.fixture(scope="package", params=["newer", "older"], ids=lambda which: f"controller-at-{which}")
def skewed(cluster: Cluster, newer: Apiserver, request: pytest.FixtureRequest) -> Iterator[Skewed]:
    """Both, with the controller at that of the parameter."""
    older, upgraded = cluster.sandbox.kubeconfig, newer.kubeconfig(cluster.sandbox.kubeconfig)
    if request.param == "older":
        yield Skewed(cluster, older, upgraded, users=upgraded)
        return
    former = cluster.programs.controller
    account = cluster.sandbox.folder / "kubeconfigs" / f"{NAMESPACE}.{CONTROLLER_ACCOUNT}"
    log = cluster.sandbox.folder / "penstock-controller-at-newer.log"
    controller = controller_program(newer.kubeconfig(account), log)
    with asyncio.Runner() as runner:
        assert runner.run(former.stop()) == 0
        controller.start()
        try:
            runner.run(_until_leads(cluster))
            yield Skewed(cluster, older, upgraded, users=older)
        finally:
            assert runner.run(controller.stop()) == 0
            former.start()
            runner.run(former.wait_ready())


async def _until_leads(cluster: Cluster) -> None:
    async with cluster.sandbox.client() as client:
        await until_leads(client, "sandbox")


async def _until_gated(cluster: Cluster, apiserver: Apiserver) -> None:
    if cluster.programs.webhook.log.exists():
        return  # no policy keeps the gate
    async with cluster.sandbox.client(apiserver.kubeconfig(cluster.sandbox.kubeconfig)) as client:
        await into_effect(client, [])


@pytest.fixture
async def client(skewed: Skewed) -> AsyncIterator[Client]:
    """An administrator where the users are."""
    async with skewed.cluster.sandbox.client(skewed.users) as client:
        yield client


@pytest.fixture
async def team(skewed: Skewed, client: Client) -> AsyncIterator[Team]:
    """A team of users."""
    made = Team(client, skewed.cluster.sandbox)
    await made.open()
    yield made
    await made.close()


@pytest.fixture
def jobs(team: Team) -> HeldJobs:
    """Jobs of the team's namespace."""
    return HeldJobs(team)
