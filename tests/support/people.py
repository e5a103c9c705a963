"""People with roles in a team's namespace, who run `penstock` with the rights that they have there."""

from __future__ import annotations

from controller.kube.apply import apply
from tests.support.clusters import Cluster
from tests.support.command import Done, penstock
from tests.support.eventually import eventually
from tests.support.team import Team


class Person:
    """Somebody with one of the roles of Kubernetes in the team's namespace."""

    def __init__(self, cluster: Cluster, team: Team, role: str) -> None:
        self._cluster = cluster
        self._team = team
        self._role = role
        self.name = f"{role}-of-{team.id}"

    async def granted(self) -> Person:
        """Bind the role, and wait for the authorizer to know."""
        subject = {"kind": "User", "name": self.name, "apiGroup": "rbac.authorization.k8s.io"}
        binding = {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "RoleBinding",
            "metadata": {"name": self._role, "namespace": self._team.namespace},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": self._role},
            "subjects": [subject],
        }
        await apply(self._team.client, [binding])
        await self._team.pod("known", "1m", queue=None)

        async def known() -> bool:
            done = await self("hold", "pod/known")
            return "does not wait at Penstock's gate" in done.errors

        await eventually(known, message="the authorizer does not know the role")
        return self

    async def __call__(self, *arguments: str) -> Done:
        where = ("-n", self._team.namespace, "--as", self.name, "--as-group", "system:authenticated")
        return await penstock(self._cluster.sandbox, *arguments, *where)
