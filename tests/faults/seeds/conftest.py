"""A control plane whose controller stands still for those of the tests, with the gate kept in either way."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from controller.sandbox.installation import Gate
from tests.support.clusters import Cluster, a_cluster_without_leader
from tests.support.team import Team

WAYS = [Gate.POLICIES, pytest.param(Gate.WEBHOOK, marks=pytest.mark.more)]


@pytest.fixture(scope="package", params=WAYS, ids=["in-apiserver", "webhook"])
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """The cluster of this folder."""
    with a_cluster_without_leader(gate=request.param) as cluster:
        yield cluster


@pytest.fixture
async def team(cluster: Cluster) -> AsyncIterator[Team]:
    """One run's corner of the cluster."""
    async with cluster.sandbox.client() as client:
        team = Team(client, cluster.sandbox)
        await team.open()
        yield team
        await team.close()
