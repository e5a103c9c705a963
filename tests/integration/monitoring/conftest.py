"""A control plane with Penstock in it, whose metrics are scraped."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from controller.sandbox.installation import Gate
from tests.support.clusters import Cluster, a_cluster
from tests.support.team import Team


@pytest.fixture(scope="package")
def cluster() -> Iterator[Cluster]:
    """The cluster of this folder."""
    with a_cluster(gate=Gate.WEBHOOK) as cluster:
        yield cluster


@pytest.fixture
async def team(cluster: Cluster) -> AsyncIterator[Team]:
    """One test's corner of it."""
    async with cluster.sandbox.client() as client:
        team = Team(client, cluster.sandbox)
        await team.open()
        yield team
        await team.close()
