"""Penstock with SchedulingPolicies switched on, on a control plane of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from controller.kube.client import Client
from controller.sandbox import Sandbox
from tests.support.accounts import AccountTeam
from tests.support.clusters import Cluster, a_cluster
from tests.support.team import TEAM_LABEL


@pytest.fixture(scope="package")
def cluster() -> Iterator[Cluster]:
    """The folder's cluster, with SchedulingPolicies switched on and none written."""
    with a_cluster(components=("scheduling-policies",), webhook_arguments=("--scheduling-policies",)) as cluster:
        yield cluster


@pytest.fixture(scope="package")
def sandbox(cluster: Cluster) -> Sandbox:
    """Its control plane."""
    return cluster.sandbox


@pytest.fixture
async def client(sandbox: Sandbox) -> AsyncIterator[Client]:
    """A client with all rights."""
    async with sandbox.client() as client:
        yield client


@pytest.fixture
async def team(sandbox: Sandbox, client: Client) -> AsyncIterator[AccountTeam]:
    """A team with a namespace of its own, in a cluster without policies."""
    made = AccountTeam(client, sandbox)
    await made.open({TEAM_LABEL: made.id})
    await made.until_free()
    yield made
    await made.close()
