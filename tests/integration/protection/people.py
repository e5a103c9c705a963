"""Who asks in the table, and the pods that they ask about."""

from __future__ import annotations

import secrets
from typing import Any

from controller.core.keys import CONDITION, GATE
from controller.kube.client import STRATEGIC_PATCH, Client
from tests.integration.protection.table import (
    GATED,
    OPENED,
    QUEUED_LABELS,
    STAMPS,
    Bind,
    Create,
    Row,
    Start,
    Update,
    Where,
    Who,
)
from tests.support.impersonation import Identity, Impersonation, Reply

Json = dict[str, Any]
DRY = {"dryRun": "All"}
BREAK_GLASS = "penstock:break-glass"
_EVERYBODY = ("system:authenticated",)
IDENTITIES = {
    Who.ADMINISTRATOR: Identity("jane", ("system:masters", *_EVERYBODY)),
    Who.BREAK_GLASS: Identity("jane", ("system:masters", BREAK_GLASS, *_EVERYBODY)),
    Who.CONTROLLER: Identity.of_account("penstock-system", "penstock-controller"),
    Who.NODE: Identity("system:node:table-node", ("system:nodes", *_EVERYBODY)),
    Who.DAEMON_SET_CONTROLLER: Identity.of_account("kube-system", "daemon-set-controller"),
    Who.JOB_CONTROLLER: Identity.of_account("kube-system", "job-controller"),
    Who.KIND_CONTROLLER: Identity.of_account("default", "kind-controller"),
    Who.SCHEDULER: Identity("system:kube-scheduler", _EVERYBODY),
}
ALL_OF = ("release", "--all", "--yes", "--namespace")
AS_BREAK_GLASS = ("--as", "jane", "--as-group", "system:masters", "--as-group", BREAK_GLASS)
EDITOR_ROLE = "table-editor"
NOWHERE = {"nodeSelector": {"table": "nowhere"}}
"""What is released must not fill the nodes of other tests."""


async def allow_editors(client: Client) -> None:
    """Make the roles of what editors may do beyond ClusterRole `edit`, the controller and a kind's with Jobs."""
    rules = [
        {
            "apiGroups": [""],
            "resources": ["pods/status", "pods/resize", "pods/ephemeralcontainers"],
            "verbs": ["get", "update", "patch"],
        },
        {"apiGroups": [""], "resources": ["pods/binding", "bindings"], "verbs": ["create"]},
        {"apiGroups": ["batch"], "resources": ["jobs", "jobs/status"], "verbs": ["get", "create", "update", "patch"]},
    ]
    path = "/apis/rbac.authorization.k8s.io/v1"
    await client.post(f"{path}/clusterroles", {"metadata": {"name": EDITOR_ROLE}, "rules": rules})
    for role in (EDITOR_ROLE, "penstock-admits-pods"):
        binding = {
            "metadata": {"name": f"kind-controller-{role}"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
            "subjects": [{"kind": "ServiceAccount", "name": "kind-controller", "namespace": "default"}],
        }
        await client.post(f"{path}/clusterrolebindings", binding)


class Field:
    """The namespaces of one test, by kind, and whoever does something in them."""

    def __init__(self, client: Client, apiserver: Impersonation, namespaces: dict[Where, str]) -> None:
        self._client = client
        self._apiserver = apiserver
        self._namespaces = namespaces

    async def let_in_editors(self) -> None:
        """Bind the editor of each namespace to its roles."""
        for namespace in self._namespaces.values():
            for role in ("edit", EDITOR_ROLE):
                binding = {
                    "metadata": {"name": role},
                    "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
                    "subjects": [
                        {"kind": "ServiceAccount", "name": "editor", "namespace": namespace},
                        {"kind": "ServiceAccount", "name": "penstock-controller", "namespace": "penstock-system"},
                    ],
                }
                path = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/rolebindings"
                await self._client.post(path, binding)

    async def ask(self, row: Row) -> Reply:
        """Make the pod that the row begins with, and its request, as a dry run."""
        return await self.send(row.who, row.does)

    async def send(self, who: Who, does: Create | Update | Bind) -> Reply:
        """Make the pod that a request begins with, and the request, as a dry run."""
        return await self.about(await self.prepare(does), who, does)

    async def prepare(self, does: Create | Update | Bind) -> str:
        """Make the pod that a request begins with; return its name, which is empty where it begins with none."""
        return "" if isinstance(does, Create) else await self.start(does.start)

    async def about(self, name: str, who: Who, does: Create | Update | Bind) -> Reply:
        """Make a request about the pod of this name, as a dry run."""
        match does:
            case Create():
                pods = self._pods(does.where)
                return await self._send(who, "POST", pods, a_pod("created", does.metadata, does.spec), does.where)
            case Update():
                path = f"{self._pods()}/{name}"
                path += f"/{does.subresource}" if does.subresource else ""
                return await self._send(who, "PATCH", path, does.patch)
            case Bind():
                pods = self._pods()
                path = pods.replace("/pods", "/bindings") if does.is_legacy else f"{pods}/{name}/binding"
                return await self._send(who, "POST", path, a_binding(name, does.metadata))

    async def start(self, start: Start) -> str:
        """Make a pod as the break-glass group; return its name."""
        name = f"{start}-{secrets.token_hex(3)}"
        foreign: Json = {"schedulingGates": [{"name": "example.com/wait"}]}
        pod = a_pod(name, {}, foreign) if start is Start.FOREIGN else a_pod(name, QUEUED_LABELS, {**GATED, **NOWHERE})
        if start in (Start.DELETING, Start.ENDING):
            pod["metadata"]["finalizers"] = ["example.com/kept"]
        await self._made("POST", self._pods(), pod)
        path = f"{self._pods()}/{name}"
        match start:
            case Start.QUEUED:
                why = {"type": CONDITION, "status": "False", "reason": "QueueNotFound", "message": "of the table"}
                await self._made("PATCH", f"{path}/status", {"status": {"conditions": [why]}})
            case Start.RELEASED:
                await self._made("PATCH", path, {"metadata": STAMPS, **OPENED})
            case Start.DELETING:
                await self._made("DELETE", path, {"gracePeriodSeconds": 0})
            case Start.ENDING:
                await self._made("PATCH", path, {"metadata": STAMPS, **OPENED})
                await self._made("POST", f"{path}/binding", a_binding(name, {}))
                await self._made("DELETE", path, {"gracePeriodSeconds": 3600})
            case Start.FOREIGN:
                pass
        return name

    def _pods(self, where: Where = Where.PLAIN) -> str:
        return f"/api/v1/namespaces/{self._namespaces[where]}/pods"

    async def _made(self, method: str, path: str, body: Json) -> None:
        who = IDENTITIES[Who.BREAK_GLASS]
        reply = await self._apiserver.send(who, method, path, body, content_type=_content_type(method))
        assert reply.code < 300, reply.body

    async def _send(self, who: Who, method: str, path: str, body: Json, where: Where = Where.PLAIN) -> Reply:
        identity = Identity.of_account(self._namespaces[where], "editor") if who is Who.EDITOR else IDENTITIES[who]
        content_type = _content_type(method)
        return await self._apiserver.send(identity, method, path, body, content_type=content_type, params=DRY)


def _content_type(method: str) -> str:
    return STRATEGIC_PATCH if method == "PATCH" else "application/json"


def a_pod(name: str, metadata: Json, spec: Json) -> Json:
    """A pod that asks for 1 cpu, with these parts besides."""
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": "1"}}}
    whole = {"restartPolicy": "Never", "containers": [container], **spec}
    if "nodeName" in spec:
        whole["automountServiceAccountToken"] = False  # static pods have no token
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, **metadata}, "spec": whole}


def a_binding(name: str, metadata: Json) -> Json:
    target = {"apiVersion": "v1", "kind": "Node", "name": "table-node"}
    return {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name, **metadata}, "target": target}


def is_gated(pod: Json) -> bool:
    return any(gate["name"] == GATE for gate in pod["spec"].get("schedulingGates", ()))
