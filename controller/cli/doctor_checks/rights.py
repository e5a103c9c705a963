"""Whether Penstock's ServiceAccounts may do what config/rbac gives them: the apiserver is asked about each right."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Final

from controller.cli.doctor_checks.cluster import Cluster, Json
from controller.cli.doctor_checks.findings import Check, Finding, Need, error
from controller.core.reasons import first_few
from controller.kube.manifests import load_documents
from controller.sandbox.shipped import manifests

_GROUP: Final = "authorization.k8s.io"
_AT_ONCE: Final = 10


async def _run(cluster: Cluster) -> AsyncIterator[Finding]:
    documents = await asyncio.to_thread(lambda: load_documents(manifests("rbac")))
    roles = {(one["kind"], one["metadata"]["name"]): one for one in documents}
    for binding in (one for one in documents if str(one["kind"]).endswith("Binding")):
        role = roles[binding["roleRef"]["kind"], binding["roleRef"]["name"]]
        for account in (one["name"] for one in binding["subjects"] if one["kind"] == "ServiceAccount"):
            where = f"ServiceAccount {cluster.home}/{account}"
            if await cluster.get(f"/api/v1/namespaces/{cluster.home}/serviceaccounts/{account}") is None:
                yield error(where, "does not exist", "apply config/rbac")
                continue
            missing = await _missing(cluster, account, list(_rights(role, cluster)))
            if missing:
                what = f"may not {first_few([one.text for one in missing])}"
                yield error(where, what, f"apply config/rbac: {role['kind']} {role['metadata']['name']} gives it")


def _rights(role: Json, cluster: Cluster) -> Iterator[tuple[Need, str]]:
    """Yield each right of a role, and the name of the one object it is for; empty: any."""
    namespace = cluster.home if role["kind"] == "Role" else ""
    for rule in role["rules"]:
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                for verb in rule["verbs"]:
                    for name in rule.get("resourceNames") or ("",):
                        yield Need(verb, resource, group, namespace), name


async def _missing(cluster: Cluster, account: str, rights: list[tuple[Need, str]]) -> list[Need]:
    user = f"system:serviceaccount:{cluster.home}:{account}"
    groups = ["system:serviceaccounts", f"system:serviceaccounts:{cluster.home}", "system:authenticated"]
    room = asyncio.Semaphore(_AT_ONCE)

    async def allowed(need: Need, name: str) -> bool:
        async with room:
            return await cluster.may(user, groups, {**need.attributes, "name": name})

    answers = await asyncio.gather(*(allowed(*right) for right in rights))
    return [need for (need, _), is_allowed in zip(rights, answers, strict=True) if not is_allowed]


def _needs(cluster: Cluster) -> tuple[Need, ...]:
    return Need("create", "subjectaccessreviews", _GROUP), Need("get", "serviceaccounts", namespace=cluster.home)


RIGHTS = Check("rights", _run, _needs)
