"""What the kinds of these tests share: a CRD, rights of an operator and an editor, and what is waited for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import orjson

from controller.api.parse import parse_workload_kind
from controller.core.workload_kinds.policies import documents_of
from controller.objects.workload_kinds import to_workload_kind
from tests.support.eventually import eventually
from tests.support.team import Json, Team

_ANY = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def a_crd(group: str, version: str, kind: str, plural: str, **metadata: Any) -> Json:
    """A CRD of a kind with any spec and status."""
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": _ANY, "status": _ANY}}}
    served = {"name": version, "served": True, "storage": True, "subresources": {"status": {}}, "schema": schema}
    names = {"kind": kind, "listKind": f"{kind}List", "plural": plural, "singular": kind.lower()}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}", **metadata},
        "spec": {"group": group, "scope": "Namespaced", "names": names, "versions": [served]},
    }


def rights(operator: str, editor: str, *rules: Json) -> tuple[Json, ...]:
    """A role with these rules for two accounts, and for the operator the right to admit pods."""
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": operator}}
    bound = ((operator, operator), (operator, "penstock-admits-pods"), (editor, operator))
    return (
        {**role, "rules": list(rules)},
        *(
            {
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": "ClusterRoleBinding",
                "metadata": {"name": f"{account}-{name}"},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
                "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": "default"}],
            }
            for account, name in bound
        ),
    )


def rendered(kind: Json) -> list[Json]:
    """What an administrator applies for a kind."""
    return [kind, *documents_of(to_workload_kind(parse_workload_kind(kind)))]


@asynccontextmanager
async def at_work(work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Let the controller of a kind work meanwhile; what it raises, this raises."""
    async with asyncio.TaskGroup() as group:
        working = group.create_task(work)
        yield
        working.cancel()


class LabelledObjects:
    """Objects of a kind in a team's namespace, whose pods have a label with the name of their object."""

    def __init__(self, team: Team, resource: str, label: str) -> None:
        """`resource`: group, version and plural, as in `jobset.x-k8s.io/v1alpha2/jobsets`."""
        self.team = team
        self.label = label
        version, _, plural = resource.rpartition("/")
        self.path = f"/apis/{version}/namespaces/{team.namespace}/{plural}"
        self.jobs_path = f"/apis/batch/v1/namespaces/{team.namespace}/jobs"

    async def get(self, name: str) -> Json:
        return dict(orjson.loads(await self.team.client.get(f"{self.path}/{name}")))

    async def pods_of(self, name: str) -> list[Json]:
        """Its pods that are not being deleted."""
        every = (await self.team.all()).values()
        mine = (pod for pod in every if pod["metadata"].get("labels", {}).get(self.label) == name)
        return [pod for pod in mine if "deletionTimestamp" not in pod["metadata"]]

    async def until_runs(self, name: str, count: int) -> list[Json]:
        """Wait until so many of its pods are on nodes; return them."""

        async def runs() -> list[Json]:
            pods = await self.pods_of(name)
            bound = [pod for pod in pods if pod["spec"].get("nodeName")]
            assert len(bound) == count, (await self.get(name), pods)
            return bound

        return await eventually(runs, seconds=60, message=f"{self.path}/{name} does not run")
