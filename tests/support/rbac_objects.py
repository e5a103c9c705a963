"""RBAC objects as JSON, and the four informers that keep `Access`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

import orjson

from controller.cache.policies.access import Access, binding_sink, role_sink
from controller.kube.client import Client
from controller.kube.decode_rbac import BINDINGS, ROLES, decode_binding, decode_role
from controller.kube.watch import Informer

Json = dict[str, Any]
API = "rbac.authorization.k8s.io"
SAR = "/apis/authorization.k8s.io/v1/subjectaccessreviews"


def a_rule(*names: str, **parts: Any) -> Json:
    """May use the policies of these names; of none given, every policy."""
    rule = {"verbs": ["use"], "apiGroups": ["penstock.dev"], "resources": ["schedulingpolicies"], **parts}
    return {**rule, "resourceNames": list(names)} if names else rule


def a_role(name: str, *rules: Json, namespace: str = "") -> Json:
    """A Role, or without a namespace a ClusterRole."""
    return {"metadata": _metadata(name, namespace), "rules": list(rules)}


def a_binding(name: str, role: str, *subjects: Json, namespace: str = "", kind: str = "ClusterRole") -> Json:
    """A RoleBinding, or without a namespace a ClusterRoleBinding."""
    reference = {"apiGroup": API, "kind": kind, "name": role}
    return {"metadata": _metadata(name, namespace), "roleRef": reference, "subjects": list(subjects)}


def _metadata(name: str, namespace: str) -> Json:
    return {"name": name, "namespace": namespace} if namespace else {"name": name}


def user(name: str) -> Json:
    return {"kind": "User", "name": name, "apiGroup": API}


def group(name: str) -> Json:
    return {"kind": "Group", "name": name, "apiGroup": API}


def account(name: str, namespace: str | None = None) -> Json:
    subject = {"kind": "ServiceAccount", "name": name}
    return subject if namespace is None else {**subject, "namespace": namespace}


def path_of(document: Json) -> str:
    """Where it is created: a binding has a roleRef, and what is namespaced a namespace."""
    namespace = document["metadata"].get("namespace")
    plural = "rolebindings" if "roleRef" in document else "roles"
    return f"/apis/{API}/v1/namespaces/{namespace}/{plural}" if namespace else f"/apis/{API}/v1/cluster{plural}"


def access_of(documents: Iterable[Json]) -> Access:
    """What follows from these objects."""
    access = Access()
    for document in documents:
        put(access, document)
    return access


def put(access: Access, document: Json) -> None:
    """Take in one object."""
    raw = orjson.dumps(document)
    if "roleRef" in document:
        access.put_binding(decode_binding(raw))
    else:
        access.put_role(decode_role(raw))


@asynccontextmanager
async def watching(client: Client) -> AsyncIterator[Access]:
    """`Access` as the webhook keeps it, from a live cluster."""
    access = Access()
    informers: list[Informer[Any]] = []
    for number, wide in enumerate((False, True)):
        roles, bindings = role_sink(access, cluster_wide=wide), binding_sink(access, cluster_wide=wide)
        informers += [
            Informer(client, ROLES[number], decode=decode_role, sink=roles, report=lambda _: None),
            Informer(client, BINDINGS[number], decode=decode_binding, sink=bindings, report=lambda _: None),
        ]
    async with asyncio.TaskGroup() as tasks:
        running = [tasks.create_task(informer.run(), name=informer.resource) for informer in informers]
        for informer in informers:
            await informer.synced.wait()
        yield access
        for task in running:
            task.cancel()


async def may_use(
    client: Client, namespace: str, service_account: str, policy: str, *, resource: str = "schedulingpolicies"
) -> bool:
    """What the apiserver's own authorizer says."""
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {
            "user": f"system:serviceaccount:{namespace}:{service_account}",
            "groups": ["system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated"],
            "resourceAttributes": {
                "verb": "use",
                "group": "penstock.dev",
                "resource": resource,
                "namespace": namespace,
                "name": policy,
            },
        },
    }
    return bool(orjson.loads(await client.post(SAR, review))["status"]["allowed"])
