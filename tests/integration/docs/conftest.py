"""Penstock running for real, with nodes as the pages of the documentation need them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from controller.sandbox import NodeShape
from tests.support.clusters import Cluster, a_cluster

SHAPES = (
    NodeShape(name="spot", count=1, cpu="8", labels={"example.com/lifecycle": "spot"}),
    NodeShape(name="on-demand", count=1, cpu="8", labels={"example.com/lifecycle": "on-demand"}),
    NodeShape(name="shared", count=1, cpu="8", labels={"example.com/pool": "shared"}),
)


@pytest.fixture(scope="package")
def cluster() -> Iterator[Cluster]:
    """The cluster of this folder; its pages apply what they say, under the names that they say."""
    components = ("pod-policies",)
    with a_cluster(
        launch={"node_shapes": SHAPES}, components=components, webhook_arguments=["--pod-policies"]
    ) as cluster:
        yield cluster
