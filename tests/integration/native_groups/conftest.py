"""Penstock on a control plane that serves PodGroups: Kubernetes' own gangs, an alpha feature of 1.36."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from controller.sandbox import Sandbox
from tests.support.clusters import a_cluster
from tests.support.team import Team

VERSION = "scheduling.k8s.io/v1alpha2"


@pytest.fixture(scope="package")
def grouping() -> Iterator[Sandbox]:
    """The folder's cluster with the feature on, and Penstock in it."""
    gates = {"GenericWorkload": True, "GangScheduling": True}
    with a_cluster(launch={"feature_gates": gates, "runtime_config": {VERSION: True}}) as cluster:
        yield cluster.sandbox


@pytest.fixture
async def team(grouping: Sandbox) -> AsyncIterator[Team]:
    """A team with a namespace of its own and nothing else yet."""
    async with grouping.client() as client:
        made = Team(client, grouping)
        await made.open()
        yield made
        await made.close()
