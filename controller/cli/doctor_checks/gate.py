"""Whether the gate is kept: what is registered for that, and what the apiserver does with pods that are only tried."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, Final

import orjson

from controller.cli.doctor_checks.cluster import ADMISSION, Cluster, Json
from controller.cli.doctor_checks.findings import Check, Finding, Need, error, warning
from controller.core.gate.protection import Rule
from controller.core.keys import GATE, QUEUE_NAME
from controller.kube.errors import WEBHOOK_AWAY, ApiError, Forbidden, ServerError
from controller.kube.manifests import load_documents
from controller.sandbox.shipped import manifests

_GROUP: Final = "admissionregistration.k8s.io"
REGISTRATIONS: Final = ("mutatingwebhookconfigurations", "validatingwebhookconfigurations")
_NAME: Final = "penstock"
_AGAIN: Final = "apply config/webhook or config/policy again, or upgrade the chart"
_AWAY: Final = "look at the pods of penstock-webhook, and at whether the apiserver can reach them (docs/install.md)"


async def _run(cluster: Cluster) -> AsyncIterator[Finding]:
    missing = [one async for one in _missing_registrations(cluster)]
    shipped = await asyncio.to_thread(lambda: load_documents(manifests("policy")))
    policies = {f"{one['kind']} {one['metadata']['name']}": one for one in shipped}
    absent = [where for where, one in policies.items() if await cluster.get(_path(one)) is None]
    if len(missing) == len(REGISTRATIONS) and len(absent) == len(policies):
        what = "is kept by nothing: neither is the webhook registered, nor are the admission policies there"
        yield error("the gate", what, "apply config/webhook or config/policy, or install the chart (docs/install.md)")
        return
    if missing and absent:  # one of the two that is whole is enough
        partly = (missing if len(missing) < len(REGISTRATIONS) else []) + (
            absent if len(absent) < len(policies) else []
        )
        for where in partly:
            yield error(where, "does not exist; the others keep the gate only together with it", _AGAIN)
    async for finding in _tried(cluster):
        yield finding


async def _missing_registrations(cluster: Cluster) -> AsyncIterator[str]:
    for plural in REGISTRATIONS:
        if await cluster.get(f"{ADMISSION}/{plural}/{_NAME}") is None:
            kind = "MutatingWebhookConfiguration" if plural.startswith("mutating") else "ValidatingWebhookConfiguration"
            yield f"{kind} {_NAME}"


def _path(document: Json) -> str:
    kind = str(document["kind"]).lower()
    plural = f"{kind.removesuffix('y')}ies" if kind.endswith("y") else f"{kind}s"
    return f"/apis/{document['apiVersion']}/{plural}/{document['metadata']['name']}"


async def _tried(cluster: Cluster) -> AsyncIterator[Finding]:
    """Try, without creating anything, a pod that has to get the gate and one that must not have it."""
    where = f"a new pod in namespace {cluster.probed}"
    answer = await _try(cluster, {QUEUE_NAME: "penstock-doctor"}, {})
    if isinstance(answer, ApiError):
        yield _refused(where, answer)
        return
    if GATE not in _gates(answer):
        what = "names a queue and gets no gate: it would run without quota"
        yield error(where, what, f"{_AWAY}; policies take effect a few seconds after they are written")
    answer = await _try(cluster, {}, {"schedulingGates": [{"name": GATE}]})
    if not isinstance(answer, ApiError):
        what = f"may carry the gate {GATE} without naming a queue: the gate is not protected"
        yield error(where, what, f"apply config/webhook/validating.yaml or config/policy again; {_AWAY}")
    elif not isinstance(answer, Forbidden):
        yield _refused(where, answer)


def _refused(where: str, answer: ApiError) -> Finding:
    if Rule.GATE_REQUIRED in answer.message:
        what = "names a queue, gets no gate, and is refused for that: no pod of a queue can be created"
        return error(where, what, f"{_AGAIN}; {_AWAY}")
    if isinstance(answer, ServerError) and WEBHOOK_AWAY in answer.message:
        return error(where, f"is refused, since a webhook does not answer: {answer.message}", _AWAY)
    return warning(where, f"could not be tried: {answer.message}", "try another namespace with --probe-namespace")


async def _try(cluster: Cluster, labels: dict[str, str], spec: dict[str, Any]) -> Json | ApiError:
    body = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"generateName": "penstock-doctor-", "labels": labels},
        "spec": {"containers": [{"name": "main", "image": "none"}], **spec},
    }
    path = f"/api/v1/namespaces/{cluster.probed}/pods"
    try:
        tried: Json = orjson.loads(await cluster.client.post(path, body, params={"dryRun": "All"}))
    except ApiError as answer:
        return answer
    return tried


def _gates(pod: Json) -> list[str]:
    return [one["name"] for one in pod["spec"].get("schedulingGates") or ()]


def _needs(cluster: Cluster) -> tuple[Need, ...]:
    kinds = (*REGISTRATIONS, "mutatingadmissionpolicies", "validatingadmissionpolicies")
    return (*(Need("get", one, _GROUP) for one in kinds), Need("create", "pods", namespace=cluster.probed))


GATE_KEPT = Check("gate", _run, _needs)
