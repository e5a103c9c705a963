"""Penstock with pod scheduling policies, for templates too, and RuntimeClasses on, on a control plane of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from controller.core.keys import POLICIES
from controller.kube.client import Client
from controller.sandbox import Sandbox
from tests.support import plain_http
from tests.support.clusters import a_cluster
from tests.support.eventually import eventually
from tests.support.team import TEAM_LABEL, Json, Team

WIDE = "clusterpodschedulingpolicies"


@pytest.fixture(scope="package")
def sandbox() -> Iterator[Sandbox]:
    """The folder's cluster, with all that is off until asked for switched on."""
    components = ("pod-policies", "pod-template-policies", "runtime-class")
    arguments = ("--pod-policies", "--runtime-classes")
    with a_cluster(components=components, webhook_arguments=arguments) as cluster:
        yield cluster.sandbox


@pytest.fixture
async def client(sandbox: Sandbox) -> AsyncIterator[Client]:
    """A client with all rights."""
    async with sandbox.client() as client:
        yield client


class PolicyTeam(Team):
    """A team that writes policies for the pods of its own namespace."""

    async def wide(self, name: str, **spec: Any) -> str:
        """Make a ClusterPodSchedulingPolicy for this team's namespace alone."""
        selector = {"matchLabels": {TEAM_LABEL: self.id}}
        body = {"podSelector": {}, "namespaceSelector": selector, **spec}
        return await self.make(WIDE, "ClusterPodSchedulingPolicy", self.full(name), body)

    async def policy(self, name: str, **spec: Any) -> str:
        """Make a PodSchedulingPolicy."""
        where = f"namespaces/{self.namespace}/podschedulingpolicies"
        return await self.make(where, "PodSchedulingPolicy", name, {"podSelector": {}, **spec})

    async def for_templates(self, name: str, **spec: Any) -> str:
        """Make a PodSchedulingPolicy for the templates of pods."""
        return await self.policy(name, target="PodTemplates", **spec)

    async def in_effect(self) -> None:
        """Return when the webhook knows every policy that was written so far: watches keep their order."""
        name = f"probe-{len(self._undo)}"
        probe = {"podSelector": {"matchLabels": {"probe": name}}, "nodeSelector": {"probe": name}}
        await self.policy(name, **probe)
        selector = {"matchLabels": {TEAM_LABEL: self.id}}
        await self.make(
            WIDE,
            "ClusterPodSchedulingPolicy",
            self.full(name),
            {**probe, "nodeSelector": {"wide": name}, "namespaceSelector": selector},
        )

        async def both() -> bool:
            pod = await self.pod("probe", queue=None, labels={"probe": name}, params={"dryRun": "All"})
            return {"probe", "wide"} <= set(pod["spec"].get("nodeSelector", {}))

        await eventually(both, message="the webhook does not know the policies")

    async def tried(self, **options: Any) -> tuple[Json, list[str]]:
        """The pod that would be created, or the refusal, and the warnings."""
        body = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "tried", **options.pop("metadata", {})},
            "spec": {"containers": [{"name": "main", "image": "none"}], **options},
        }
        return await plain_http.create(self.sandbox, self.pods_path + "?dryRun=All", body)


@pytest.fixture
async def team(sandbox: Sandbox, client: Client) -> AsyncIterator[PolicyTeam]:
    """A team with a namespace of its own and no policy yet."""
    made = PolicyTeam(client, sandbox)
    await made.open({TEAM_LABEL: made.id})
    yield made
    await made.close()


def policies_of(pod: Json) -> str | None:
    """The annotation that names the policies which changed the pod."""
    noted = (pod["metadata"].get("annotations") or {}).get(POLICIES)
    return str(noted) if noted is not None else None
