"""Penstock on a control plane that serves PodGroups: Kubernetes' own gangs, beta and off by default in 1.37."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from controller.sandbox import Sandbox
from tests.support.clusters import a_cluster
from tests.support.kubernetes import IS_BETA, POD_GROUP_GATES, POD_GROUPS
from tests.support.team import Team

MEMBER = {"schedulingGroup": {"podGroupName": "train"}}
_MORE = ("TopologyAwareWorkloadScheduling", "CompositePodGroup", "WorkloadWithJob") if IS_BETA else ()
collect_ignore = [] if IS_BETA else ["test_fields.py", "test_jobs.py"]
"""What is of 1.37 alone."""


@pytest.fixture(scope="package")
def grouping() -> Iterator[Sandbox]:
    """The folder's cluster with the feature on, and Penstock in it."""
    gates = dict.fromkeys((*POD_GROUP_GATES, *_MORE), True)
    served = {POD_GROUPS: True, **({"scheduling.k8s.io/v1alpha3": True} if IS_BETA else {})}
    with a_cluster(launch={"feature_gates": gates, "runtime_config": served}) as cluster:
        yield cluster.sandbox


async def pod_group(team: Team, policy: dict[str, Any], **spec: Any) -> None:
    """Make the PodGroup `train`, which the pods of `MEMBER` name."""
    path = f"/apis/{POD_GROUPS}/namespaces/{team.namespace}/podgroups"
    await team.client.post(path, {"metadata": {"name": "train"}, "spec": {"schedulingPolicy": policy, **spec}})


@pytest.fixture
async def team(grouping: Sandbox) -> AsyncIterator[Team]:
    """A team with a namespace of its own and nothing else yet."""
    async with grouping.client() as client:
        made = Team(client, grouping)
        await made.open()
        yield made
        await made.close()
