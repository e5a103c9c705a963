"""A team whose service accounts may use SchedulingPolicies, on a real control plane."""

from __future__ import annotations

from typing import Any

from controller.core.keys import POLICIES
from controller.kube.errors import Forbidden
from tests.support import plain_http
from tests.support.eventually import eventually
from tests.support.rbac_objects import a_binding, a_role, a_rule, account, path_of
from tests.support.team import Json, Team

POLICIES_PATH = "schedulingpolicies"


class AccountTeam(Team):
    """One test's namespace, its accounts, and policies of the whole cluster that its accounts may use."""

    async def policy(self, name: str, *, mode: str = "Enforce", grant: bool = True, **sections: Any) -> str:
        """Make a SchedulingPolicy of the full name, which the default account may use unless it shall not."""
        full = await self.make(POLICIES_PATH, "SchedulingPolicy", self.full(name), {"mode": mode, **sections})
        if grant:
            await self.grant(full)
        return full

    async def account(self, name: str) -> str:
        """Make a ServiceAccount."""
        path = f"/api/v1/namespaces/{self.namespace}/serviceaccounts"
        await self.client.post(path, {"metadata": {"name": name}})
        return name

    async def grant(self, policy: str, name: str = "default") -> str:
        """Let an account use a policy (full name); return the path of the binding."""
        role = f"{policy}-{name}"
        await self._rbac(a_role(role, a_rule(policy)))
        return await self._rbac(a_binding(role, role, account(name, self.namespace), namespace=self.namespace))

    async def _rbac(self, document: Json) -> str:
        await self.client.post(path_of(document), document)
        path = f"{path_of(document)}/{document['metadata']['name']}"
        self._undo.append(lambda: self.client.delete(path))
        return path

    async def in_effect(self) -> None:
        """Return when the webhook knows all that was written so far: each kind is watched in its order.

        The policy that this takes is gone again, and for an account of its own.
        """
        name = f"probe-{len(self._undo)}"
        await self.account(name)
        probe = await self.policy(name, grant=False, default={"nodeSelector": {"probe": name}})
        await self.grant(probe, name)

        async def known() -> bool:
            pod, _ = await self.tried(serviceAccountName=name)
            selector = (pod.get("spec") or {}).get("nodeSelector") or {}
            return bool(selector.get("probe") == name)

        await eventually(known, message="the webhook does not know the policies and rights")
        await self.client.delete(f"/apis/penstock.dev/v1alpha1/{POLICIES_PATH}/{probe}")

        async def forgotten() -> bool:
            pod, _ = await self.tried(serviceAccountName=name)
            return "probe" not in ((pod.get("spec") or {}).get("nodeSelector") or {})

        await eventually(forgotten, message="the webhook does not forget the probe")

    async def until_free(self) -> None:
        """Return when no policy of an earlier test is known any more: without policies everything passes."""

        async def free() -> bool:
            pod, _ = await self.tried(nodeSelector={"any": "thing"})
            return pod.get("kind") == "Pod"

        await eventually(free, message="policies of another test are still in effect")

    async def tried(self, *, metadata: Json | None = None, **spec: Any) -> tuple[Json, list[str]]:
        """The pod that would be created, or the refusal, and the warnings."""
        body = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "tried", **(metadata or {})},
            "spec": {"containers": [{"name": "main", "image": "none"}], **spec},
        }
        return await plain_http.create(self.sandbox, self.pods_path + "?dryRun=All", body)

    async def refused(self, **spec: Any) -> str:
        """Create a pod, which has to be refused; return why."""
        try:
            await self.pod("refused", queue=None, spec=spec)
        except Forbidden as error:
            return error.message
        raise AssertionError("the pod was let in")


def noted_of(pod: Json) -> str | None:
    """The annotation that names the policies which changed the pod."""
    noted = (pod["metadata"].get("annotations") or {}).get(POLICIES)
    return None if noted is None else str(noted)
