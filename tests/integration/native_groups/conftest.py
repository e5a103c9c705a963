"""Penstock on a control plane that serves PodGroups: Kubernetes' own gangs, beta and off by default in 1.37."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from controller.sandbox import Sandbox
from tests.support.clusters import a_cluster
from tests.support.kubernetes import MINOR
from tests.support.team import Team

IS_BETA = MINOR >= 37
SERVED = f"scheduling.k8s.io/{'v1beta1' if IS_BETA else 'v1alpha2'}"
GATES = {"GenericWorkload": True} if IS_BETA else {"GenericWorkload": True, "GangScheduling": True}


@pytest.fixture(scope="package")
def grouping() -> Iterator[Sandbox]:
    """The folder's cluster with the feature on, and Penstock in it."""
    with a_cluster(launch={"feature_gates": GATES, "runtime_config": {SERVED: True}}) as cluster:
        yield cluster.sandbox


@pytest.fixture
async def team(grouping: Sandbox) -> AsyncIterator[Team]:
    """A team with a namespace of its own and nothing else yet."""
    async with grouping.client() as client:
        made = Team(client, grouping)
        await made.open()
        yield made
        await made.close()
