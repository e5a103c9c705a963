"""Penstock with everything that others' objects become, on a control plane of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from controller.kube.client import Client
from controller.sandbox import NodeShape
from tests.integration.moving.moved import Moved
from tests.support.clusters import Cluster, a_cluster

SPOT = NodeShape(name="spot", count=1, cpu="8", memory="32Gi", labels={"example.com/lifecycle": "spot"})


@pytest.fixture(scope="package")
def cluster() -> Iterator[Cluster]:
    """The cluster of this folder; its tests apply what the page says, under the names that it says."""
    components = ("pod-policies", "scheduling-policies", "runtime-class")
    arguments = ("--pod-policies", "--scheduling-policies")
    with a_cluster(launch={"node_shapes": (SPOT,)}, components=components, webhook_arguments=arguments) as cluster:
        yield cluster


@pytest.fixture
async def moved(cluster: Cluster, client: Client) -> AsyncIterator[Moved]:
    """Somebody who moves over, and afterwards a cluster as before."""
    made = Moved(client, cluster.sandbox)
    yield made
    await made.undo()
