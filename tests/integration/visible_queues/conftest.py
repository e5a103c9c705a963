"""Penstock as it runs, with its API: one control plane for the tests of this folder."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from tests.support.clusters import Cluster, a_cluster
from tests.support.viewers import Viewers, viewers


@pytest.fixture(scope="package")
def cluster() -> Iterator[Cluster]:
    """A control plane whose controller serves the API."""
    with a_cluster(components=["visibility"]) as cluster:
        yield cluster


@pytest.fixture
async def people(cluster: Cluster) -> AsyncIterator[Viewers]:
    """Those who ask."""
    async with viewers(cluster.sandbox) as people:
        yield people
