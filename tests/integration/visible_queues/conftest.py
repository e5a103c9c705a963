"""Penstock as it runs, with its API: one control plane for the tests of this folder."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from controller.kube.client import Client
from tests.support.clusters import Cluster, a_cluster
from tests.support.team import Team
from tests.support.viewers import Viewers, viewers


@pytest.fixture(scope="package")
def cluster() -> Iterator[Cluster]:
    """A control plane whose controller serves the API."""
    with a_cluster(components=["visibility"]) as cluster:
        yield cluster


@pytest.fixture
async def client(cluster: Cluster) -> AsyncIterator[Client]:
    async with cluster.sandbox.client() as client:
        yield client


@pytest.fixture
async def people(cluster: Cluster) -> AsyncIterator[Viewers]:
    """Those who ask."""
    async with viewers(cluster.sandbox) as people:
        yield people


@pytest.fixture
async def team(cluster: Cluster, client: Client) -> AsyncIterator[Team]:
    """A team with a namespace of its own and nothing else yet."""
    made = Team(client, cluster.sandbox)
    await made.open()
    yield made
    await made.close()
